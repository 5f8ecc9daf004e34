"""Random lives harm no table.

`make lives` has longer ones. A failure names a line for `python -m tests.lives --replay`.
"""

from __future__ import annotations

import secrets
import time
from random import Random

import pytest

from tests.lives.living import Meetings, Place, drawn_steps
from tests.lives.shapes import Beginning, drawn
from tests.lives.shrinking import is_hudis_own

pytestmark = [pytest.mark.spark, pytest.mark.smoke]

_SECONDS = 90
_STEPS = 8
_QUICK = (Beginning.FRESH, Beginning.NATIVE_HFILES, Beginning.NO_FOLDER)


@pytest.mark.timeout(0)
def test_random_lives_harm_no_table(place: Place) -> None:
    """Two short lives with a new seed, as far as they get in a minute and a half."""
    seed, ends_at = secrets.randbelow(10**9), time.monotonic() + _SECONDS
    meetings = Meetings()
    for number in range(2):
        random = Random(f"{seed}/{number}")
        shape = drawn(random, _QUICK)
        lived = place.live(shape, drawn_steps(random, meetings, _STEPS, ends_at))
        is_ours = lived.ending and not is_hudis_own(lived, place)
        assert not is_ours, f"--replay {lived.script.text()!r} ends by: {lived.harm}"
