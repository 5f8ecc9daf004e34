"""What may happen to who builds indexes."""

from tests.misfortunes import mortal

__all__ = ["mortal"]
