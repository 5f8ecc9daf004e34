"""What several frontends share: builders, functions, constants, types."""
