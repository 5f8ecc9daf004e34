"""Evidence from statistics: bounds of columns per file and partition."""
