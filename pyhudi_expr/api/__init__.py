"""The public Python API: tables, plans, explanations and scans. `import pyhudi_expr` exports it."""
