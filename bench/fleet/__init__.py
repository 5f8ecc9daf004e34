"""Many services and tables: what one service needs, measured, and what many would, simulated."""
