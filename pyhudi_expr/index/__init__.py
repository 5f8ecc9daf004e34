"""The indexes of a table. Each gives evidence for the protocols of `expr.evaluate`."""
