"""DataFrames that read only the files that can match."""
