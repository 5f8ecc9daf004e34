"""HFile version 3: reading and writing."""
