"""Attributes that are computed once: kept, and never waited for by other instances."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import pytest

from pyhudi_expr.computed_once import computed_once


@dataclass(frozen=True)
class Table:
    name: str
    calls: list[str] = field(default_factory=list, compare=False)
    may_end: threading.Event = field(default_factory=threading.Event, compare=False)
    has_begun: threading.Event = field(default_factory=threading.Event, compare=False)

    @computed_once
    def content(self) -> str:
        """What its files hold."""
        self.calls.append(self.name)
        self.has_begun.set()
        if self.name == "slow":
            assert self.may_end.wait(60)
        return f"content of {self.name}"

    @computed_once
    def damaged(self) -> str:
        self.calls.append(self.name)
        raise ValueError(self.name)


def test_a_value_is_computed_once_for_each_instance() -> None:
    one, other = Table("one"), Table("other")
    assert [one.content, one.content, other.content] == ["content of one"] * 2 + [
        "content of other"
    ]
    assert (one.calls, other.calls) == (["one"], ["other"])
    assert replace(one, name="third").content == "content of third"


def test_an_error_is_not_kept() -> None:
    table = Table("t")
    for _ in range(2):
        with pytest.raises(ValueError, match="t"):
            assert table.damaged
    assert table.calls == ["t", "t"]


def test_the_class_has_the_documentation() -> None:
    assert Table.content.__doc__ == "What its files hold."


def test_a_slow_instance_does_not_stop_another() -> None:
    slow, quick = Table("slow"), Table("quick")
    asking = threading.Thread(target=lambda: slow.content)
    asking.start()
    try:
        assert slow.has_begun.wait(60)
        other = threading.Thread(target=lambda: quick.content, daemon=True)
        other.start()
        other.join(60)
        assert quick.calls == ["quick"]
    finally:
        slow.may_end.set()
        asking.join()


def test_threads_that_ask_at_once_get_the_same_value() -> None:
    table, found = Table("slow"), list[str]()
    threads = [threading.Thread(target=lambda: found.append(table.content)) for _ in range(4)]
    for thread in threads:
        thread.start()
    table.may_end.set()
    for thread in threads:
        thread.join()
    assert len({id(value) for value in found}) == 1
