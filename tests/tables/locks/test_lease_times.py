"""The settings of the lease in an object store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks import TableLock, UnknownLock
from pyhudi_expr.tables.locks.settings import PROVIDER, RENEWAL, RENEWAL_BEFORE, VALIDITY
from pyhudi_expr.tables.locks.storage_lease import LeaseTimes
from pyhudi_expr.tables.storage import Storage


@pytest.mark.parametrize(
    ("said", "times"),
    [
        ({}, (300, 30)),
        ({VALIDITY: "600"}, (600, 30)),
        ({RENEWAL: "5"}, (300, 5)),
        ({RENEWAL_BEFORE: "5"}, (300, 5)),
        ({RENEWAL_BEFORE: "5", RENEWAL: "6"}, (300, 6)),
        ({VALIDITY: "10", RENEWAL: "1"}, (10, 1)),
    ],
)
def test_the_times_of_the_settings(said: Mapping[str, str], times: tuple[int, int]) -> None:
    assert LeaseTimes.of(said) == LeaseTimes(*times)


@pytest.mark.parametrize(
    "said", [{VALIDITY: "299"}, {RENEWAL: "31"}, {VALIDITY: "9", RENEWAL: "1"}, {RENEWAL: "0"}]
)
def test_what_hudi_refuses_is_refused(said: Mapping[str, str]) -> None:
    with pytest.raises(HudiError, match=f"{VALIDITY} is .*{RENEWAL} is .*ten times"):
        LeaseTimes.of(said)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(HudiError, match=f"{VALIDITY} is 'long', which is not a number of seconds"):
        LeaseTimes.of({VALIDITY: "long"})


def test_a_local_disk_has_no_leases(tmp_path: Path) -> None:
    lock = TableLock.of(Storage.open(str(tmp_path)), {PROVIDER: "a.StorageBasedLockProvider"})
    with pytest.raises(UnknownLock, match=r"StorageBasedLockProvider, which needs an object store"):
        lock.check()
