"""How sqlglot reads each dialect: what it leaves out of an engine's rules is set right here."""
