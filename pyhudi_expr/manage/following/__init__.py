"""Follow a table's writers: what they report of their commits, and how far an index is behind."""
