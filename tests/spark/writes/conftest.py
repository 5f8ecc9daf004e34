"""The shared session with our statements turned on."""

from tests.spark.statements.conftest import session

__all__ = ["session"]
