"""HTML pages of the commands: one self-contained file each."""
