"""DynamoDB Local, AWS's own server for tests, and AWS's lock client for Java beside it."""
