"""Shared by several frontends: builders, functions, constants, types."""
