"""What a process of the service consists of, and the service as one process."""
