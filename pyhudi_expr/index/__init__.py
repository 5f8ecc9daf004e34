"""What each index of a table knows: one module for each, all behind `expr.evaluate`'s protocols."""
