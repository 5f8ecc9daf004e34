"""Timelines: instants, their metadata, and the archive."""
