"""What may happen to who builds indexes."""

from tests.failure_fixtures import disk, killed, mortal

__all__ = ["disk", "killed", "mortal"]
