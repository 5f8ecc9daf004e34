"""The pruning service: the protocol of pruning.thrift over framed TCP (`pyhudi serve`)."""
