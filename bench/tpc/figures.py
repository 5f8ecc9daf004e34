"""What the queries of a suite come to, as figures with their bars."""

from collections.abc import Iterator, Mapping

from bench.reporting.measuring import Measurement
from bench.tpc.modes import is_at_once
from bench.tpc.results import Result, Results

_UNANSWERED = frozenset({"UNREACHABLE", "TIMED_OUT", "SERVICE_FAILED"})
"""Outcomes of scans that were not pruned because the service was not there, or late."""
_RATIO, _SECONDS = 1.05, 0.3
"""A query is slower with pruning than without if it takes longer by both."""
_SPEED_SCALE = 1.0
"""Below this scale, times have no bar: the fixed costs of a query are most of them."""

_Mode = Mapping[str, Result]


def figures(found: Results) -> Iterator[Measurement]:
    """Yield the figures of each scale, of the queries that have been run at it."""
    for scale in sorted({one.scale for one in found.results}):
        modes: dict[str, dict[str, Result]] = {}
        for one in found.at(scale).results:
            modes.setdefault(one.mode, {})[one.query] = one
        title = f"{found.suite}: scale {scale:g}"
        for mode, results in modes.items():
            equal = sum(one.is_equal for one in results.values())
            yield Measurement(
                f"{title}, {mode}, queries with DuckDB's rows",
                equal,
                "queries",
                f">= {len(results)}",
            )
            if is_at_once(mode):
                yield _late(f"{title}, {mode}", results)
        for form in ("cow", "mor"):
            if f"{form}-on" in modes:
                yield from _of_pruning(f"{title}, {form}", modes, form, scale)


def _of_pruning(
    title: str, modes: Mapping[str, _Mode], form: str, scale: float
) -> Iterator[Measurement]:
    pruned = modes[f"{form}-on"]
    considered = sum(one.files_considered for one in pruned.values())
    kept = sum(one.files_kept for one in pruned.values())
    yield Measurement(f"{title}, files considered", considered, "files")
    yield Measurement(f"{title}, files read of them", 100 * kept / max(considered, 1), "%", "<= 40")
    yield _late(title, pruned)
    unpruned, control = modes.get(f"{form}-off", {}), modes.get("control", {})
    if pruned.keys() & unpruned:
        yield Measurement(f"{title}, unpruned / pruned time", _speed(unpruned, pruned), "x")
        slower = sum(
            _is_slower(pruned[query], unpruned[query]) for query in pruned.keys() & unpruned
        )
        bar = "<= 0" if scale >= _SPEED_SCALE else None
        yield Measurement(f"{title}, queries that pruning makes slower", slower, "queries", bar)
    if pruned.keys() & control:
        bar = ">= 1.5" if scale >= _SPEED_SCALE else None
        yield Measurement(f"{title}, control / pruned time", _speed(control, pruned), "x", bar)


def _late(title: str, pruned: _Mode) -> Measurement:
    late = sum(not _UNANSWERED.isdisjoint(one.outcomes) for one in pruned.values())
    return Measurement(f"{title}, queries without an answer in time", late, "queries", "<= 0")


def _speed(slow: _Mode, fast: _Mode) -> float:
    """Return the ratio of the times of the queries that were run in both modes."""
    both = slow.keys() & fast.keys()
    return sum(slow[query].seconds for query in both) / sum(fast[query].seconds for query in both)


def look_slower(one_query: _Mode) -> bool:
    """Return whether a query, by its results in each mode, is slower with pruning than without.

    Below the scale from which times have a bar it never is.
    """
    return any(
        _is_slower(one_query[f"{form}-on"], one_query[f"{form}-off"])
        for form in ("cow", "mor")
        if {f"{form}-on", f"{form}-off"} <= one_query.keys()
        and one_query[f"{form}-on"].scale >= _SPEED_SCALE
    )


def _is_slower(pruned: Result, unpruned: Result) -> bool:
    longer = pruned.seconds - unpruned.seconds
    return longer > _SECONDS and pruned.seconds > _RATIO * unpruned.seconds
