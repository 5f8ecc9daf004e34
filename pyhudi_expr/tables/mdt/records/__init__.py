"""Records of the metadata table: schema, payloads, value types, Bloom filters."""
