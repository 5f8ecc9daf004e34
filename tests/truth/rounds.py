"""Sessions of random cases. The seed determines each one's options, rows, files and predicates."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from devtools.runtime import java
from tests.truth import hudis_index, values
from tests.truth.engine import SessionOptions
from tests.truth.files import Files, SortedRows
from tests.truth.served import Service, running_service
from tests.truth.soundness import EvaluatedPredicate, Tally
from tests.truth.stored import Footers, StoredFiles, in_avro, write_table
from tests.truth.templates import HIVE, SPARK
from tests.truth.witnesses import Oracle, SparkOracle, running_oracles
from tests.truth.zones import Zones, zones_of

_ROWS, _RANDOM_FILES = 240, 120
_STORED_FILES = 60
_MOMENTS = 40
#: The share of sessions whose rows are stored in files, too.
_STORED = 1 / 12


def run_cases(seed: str, cases: int, dialects: Sequence[str]) -> Tally:
    """Runs at least this many cases, with a service of several workers where it is asked."""
    total, zones = Tally(), zones_of(java())
    with (
        running_oracles(dialects, zones) as engines,
        TemporaryDirectory() as directory,
        ExitStack() as running,
    ):
        service = None
        if HIVE in dialects:
            service = running.enter_context(running_service(Path(directory)))
        for tally in rounds(seed, engines, zones, service):
            total.merge(tally)
            if total.cases >= cases:
                return total
    raise AssertionError("rounds do not end")


def rounds(
    seed: str, engines: Mapping[str, Oracle], zones: Zones, service: Service | None = None
) -> Iterator[Tally]:
    """Yields the results of each session, endlessly. The engines take turns.

    Some of the rows are stored in files, whose entries of `column_stats` are checked as well: ours,
    and Hudi's where Spark is there. If it was Hive that evaluated, a service is asked, too: its
    questions have Hive's meaning.
    """
    for number in count():
        for dialect, oracle in engines.items():
            tally = Tally(sessions=1)
            rng = random.Random(f"{seed}/{number}/{dialect}")
            session_options = oracle.session_options(rng, zones)
            rows = values.rows(_ROWS, rng.getrandbits(32), _moments(session_options, zones, rng))
            sorted_rows = SortedRows(rows)
            predicates = list(oracle.evaluate_random(rows, session_options, rng))
            for evaluated in predicates:
                names = evaluated.columns(rows.schema.names)
                around = [evaluated.rows(truth) for truth in (True, False, None)]
                tally.add(
                    evaluated, sorted_rows.files(names, around, _RANDOM_FILES, rng.getrandbits(32))
                )
            if rng.random() < _STORED:
                own = in_avro(rows)
                stored = [one for one in predicates if not one.columns(_left_out(rows, own))]
                files = SortedRows(own).files(
                    own.column_names, [], _STORED_FILES, rng.getrandbits(32)
                )
                footers = rng.choice(list(Footers))
                with TemporaryDirectory() as directory:
                    table = Path(directory) / "table"
                    write_table(table, own, files.members, footers, rng)
                    _check_statistics(tally, table, stored, files)
                    if service is not None and dialect == HIVE:
                        service.check(tally, table, stored, files)
                    spark = engines.get(SPARK)
                    # Hudi writes by parquet-java, and takes its ranges for those of all values.
                    if isinstance(spark, SparkOracle) and footers is Footers.JAVA:
                        hudis_index.build(spark.spark, table)
                        hudis_index.check(tally, table, stored, files)
            yield tally


def _left_out(rows: pa.Table, own: pa.Table) -> Sequence[str]:
    return [name for name in rows.column_names if name not in own.column_names]


def _check_statistics(
    tally: Tally, table: Path, predicates: Sequence[EvaluatedPredicate], files: Files
) -> None:
    """Checks what footers exclude, and our own entries of `column_stats`."""
    sources = {
        "by footers": StoredFiles.by_footers(table),
        "by entries of column_stats": StoredFiles.by_entries(table),
    }
    for by, found in sources.items():
        for evaluated in predicates:
            for front_end in evaluated.questions:
                kept = found.kept(evaluated.bound(front_end, found.schema), len(files.members))
                tally.add_kept(evaluated, files, front_end, by, kept)


def _moments(session_options: SessionOptions, zones: Zones, rng: random.Random) -> Sequence[int]:
    """Moments around changes of the clocks of the session's zones."""
    found = [one for one in session_options.zones if one in zones.rules]
    return [second for zone in found for second in zones.moments(zone, rng, _MOMENTS // len(found))]
