"""The extension metadata table, which is stored beside Hudi's own."""
