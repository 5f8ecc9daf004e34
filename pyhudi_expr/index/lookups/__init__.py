"""Evidence from look-ups: indexes of keys, values and expressions."""
