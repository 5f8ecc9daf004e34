"""Write expressions for engines: as SQL of each dialect, and as pyarrow's expressions."""
