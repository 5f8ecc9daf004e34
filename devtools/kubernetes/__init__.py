"""The chart's schema, and its installation into a real API server."""
