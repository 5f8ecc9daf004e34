"""The command line, `pyhudi`: one module for each group of commands."""
