"""What may happen to who builds indexes."""

from tests.misfortunes import disk, mortal, observed

__all__ = ["disk", "mortal", "observed"]
