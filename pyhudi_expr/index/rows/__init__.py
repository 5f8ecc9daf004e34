"""Which rows of a base file can match, by its row groups, pages, dictionaries and Bloom filters."""
