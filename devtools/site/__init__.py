"""The documentation's site: its generated pages and pictures."""
