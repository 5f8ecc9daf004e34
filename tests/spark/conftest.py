"""What may happen to who builds indexes."""

from tests.misfortunes import disk, killed, mortal

__all__ = ["disk", "killed", "mortal"]
