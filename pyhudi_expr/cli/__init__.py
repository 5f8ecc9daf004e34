"""The command line: `pyhudi serve`, `prune`, `explain` and `inspect`."""
