"""Tables of 1,000,000 and 10,000,000 files."""
