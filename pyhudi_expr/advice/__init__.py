"""Which indexes a table's queries would gain by: the estimates that RFC-77 leaves to tools."""
