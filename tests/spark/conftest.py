"""Fixtures that simulate failures of builds."""

from tests.failure_fixtures import disk, kill_after_changes, kill_after_writing

__all__ = ["disk", "kill_after_changes", "kill_after_writing"]
