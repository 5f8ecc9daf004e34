"""The extension metadata table, which lies beside Hudi's own."""
