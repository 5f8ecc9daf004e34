"""Read one of many indexed columns in a new process: the share of `column_stats` that is read."""

from collections.abc import Iterator

from bench.reporting.measuring import Measurement, benchmark, seconds
from bench.tables import synthetic
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.parsing.budget import iter_unordered

_FILES, _PARTITIONS, _FILLERS = 100_000, 100, 96


@benchmark("wide")
def wide() -> Iterator[Measurement]:
    """One column of 100,000 files out of 100 indexed columns: bytes of column_stats read."""
    table = synthetic.ensure_written(_FILES, _PARTITIONS, _FILLERS)
    metadata = MetadataTable.open(HudiTable.open(str(table)))
    if metadata is None:
        raise ValueError(f"{table} has no metadata table")
    found: list[int] = []

    def read() -> None:
        pieces = metadata.statistics_pieces(COLUMN_STATS, [column_prefix("spread")])
        found.extend(len(piece) for piece in iter_unordered(pieces))

    elapsed = seconds(read)
    if sum(found) != _FILES:
        raise ValueError(f"{sum(found)} of {_FILES} entries were read")
    directory = table / METADATA_DIR / COLUMN_STATS
    size = sum(file.stat().st_size for file in directory.glob("*.hfile"))
    title = f"wide: 1 of {_FILLERS + 4} columns, {_FILES:,} files"
    share = metadata.bytes_read / size * 100
    yield Measurement(f"{title}: share of column_stats that is read", share, "%", "< 3")
    yield Measurement(f"{title}: size of column_stats", size / 1e6, "MB")
    yield Measurement(f"{title}: time", elapsed, "s")
