"""Clients that load a server, and what the server spends on their answers."""
