"""Evidence from look-ups in indexes of keys, values and expressions."""
