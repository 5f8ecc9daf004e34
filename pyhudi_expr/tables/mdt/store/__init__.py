"""The metadata table as a store: merged look-ups, file groups and caches."""
