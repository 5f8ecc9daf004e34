"""The network side of the service: connections, frames, and which request is evaluated next."""
