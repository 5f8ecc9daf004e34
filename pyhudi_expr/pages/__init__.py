"""What the commands found out, as pages for a browser: one file each, that loads nothing else."""
