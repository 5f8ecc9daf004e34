"""DataFrames that read only the files which can match."""
