"""An S3 server for tests, and a proxy before it that records, delays and fails requests."""
