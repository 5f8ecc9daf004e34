"""What questions to the service ask, and the parts of its answers."""
