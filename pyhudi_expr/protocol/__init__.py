"""The protocol between engines and the service: `generated` from pruning.thrift by Thrift.

`conversion` makes predicates of its filters, and filters of predicates. `client` asks a service.
"""
