"""Read the rows of single file slices: their files, log blocks, and merging them as queries do."""
