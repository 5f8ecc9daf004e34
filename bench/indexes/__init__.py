"""What the indexes of tables cost."""
