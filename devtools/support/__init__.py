"""Which tests show what works with which engine."""
