"""`column_stats` of a table whose columns were renamed, retyped, dropped or added again.

Statistics are stored by the name that a column had when its file was written. So each file is
looked up by the name that the column's id had then. A file from before the column was added has no
statistics of it; its footer proves that it lacks a column of the name. A file with a type that does
not widen to the column's stays unknown. So do log files, whose blocks may be of several versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, string_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds, Values, unknown
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.index.planner import Answer, Question
from pyhudi_expr.index.statistics.column_stats import ColumnStats, LoadedBounds
from pyhudi_expr.tables.hudi_names import META_COLUMNS
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.schema import HistoricField, SchemaHistory

#: For each type the types that widen to it without losing a value or its order.
_WIDER = {"long": {"int"}, "double": {"int", "float"}}
_DECIMAL = re.compile(r"decimal(?:_fixed|_bytes)?\((\d+),\s*(\d+)\)(?:\[\d+\])?")


@dataclass(frozen=True)
class EvolvedColumnStats:
    """Bounds of an evolved table's files, see `pyhudi_expr.index.planner.Source`."""

    stats: ColumnStats
    history: SchemaHistory
    listing: FileListing

    @property
    def name(self) -> str:
        """See `ColumnStats.name`."""
        return self.stats.name

    def answer(self, question: Question) -> Answer | None:
        """Load the bounds of the columns under their former names, see `Source`."""
        named = {
            column: former_names(column, self.history, self.listing, self._files_by_instant)
            for column in question.columns
        }
        former = list(dict.fromkeys(known for names in named.values() for known in names))
        if not former:
            return None
        loaded = self.stats.load(
            former, question.partitions, question.footer_wait, question.footers
        )
        found = {column: self._merged(column, names, loaded) for column, names in named.items()}
        return Answer(
            StatisticsEvidence(LoadedBounds(found)),
            loaded.notes,
            lacks_footers=loaded.lacks_footers,
        )

    @computed_once
    def _files_by_instant(self) -> Mapping[str, BoolArray]:
        return files_by_instant(self.listing)

    @staticmethod
    def _merged(
        column: BoundColumn, names: Mapping[BoundColumn, BoolArray], loaded: LoadedBounds
    ) -> Bounds:
        bounds = unknown(column.domain)
        for known, files in names.items():
            own = loaded.bounds(known)
            if own is not None:
                bounds = Bounds(
                    *(
                        _chosen(files, one, other)
                        for one, other in (
                            (own.lower, bounds.lower),
                            (own.upper, bounds.upper),
                            (own.may_be_value, bounds.may_be_value),
                            (own.may_be_null, bounds.may_be_null),
                        )
                    )
                )
        return bounds


def files_by_instant(listing: FileListing) -> Mapping[str, BoolArray]:
    """Return flags for the files of each write."""
    codes = listing.file_instants.dictionary_encode()
    numbers = np.asarray(codes.indices.fill_null(-1))
    return {
        instant: numbers == number for number, instant in enumerate(string_list(codes.dictionary))
    }


def former_names(
    column: BoundColumn,
    history: SchemaHistory,
    listing: FileListing,
    by_instant: Mapping[str, BoolArray],
) -> dict[BoundColumn, BoolArray]:
    """Return a column under each name that it had, with flags for the base files of that time.

    Files of a time when its bounds did not hold for today's type are not flagged.

    Args:
        column: The column as it is named now.
        history: The versions of the schema.
        listing: The files.
        by_instant: Flags for the files of each write.
    """
    bases = ~listing.file_is_log
    if column.name in META_COLUMNS:
        return {column: bases}
    now = history.at(listing.instant)
    id_ = now.id_of(column.name) if now else None
    if now is None or id_ is None:
        return {}
    names: dict[BoundColumn, BoolArray] = {}
    for instant, files in by_instant.items():
        version = history.at(instant)
        then = version.fields.get(id_) if version else None
        if version is not None and then is None and version.id_of(column.name) is None:
            then = now.fields[id_]
        if then is not None and _bounds_hold_for(now.fields[id_], then):
            known = replace(column, name=then.name)
            names[known] = names.get(known, np.zeros_like(bases)) | (files & bases)
    return names


def _chosen(files: BoolArray, own: Values, other: Values) -> Values:
    """Return `own` where flagged, `other` elsewhere."""
    if isinstance(own, pa.Array | pa.Scalar | pa.ChunkedArray):
        return pc.if_else(pa.array(files), own, other)
    return np.where(files, own, other)


def _bounds_hold_for(now: HistoricField, then: HistoricField) -> bool:
    """Return whether bounds of the former type are bounds of today's type."""
    if now.type == then.type or then.type in _WIDER.get(now.type, ()):
        return True
    wide, narrow = _DECIMAL.fullmatch(now.type), _DECIMAL.fullmatch(then.type)
    if wide is None or narrow is None:
        return False
    (digits, scale), (old_digits, old_scale) = map(int, wide.groups()), map(int, narrow.groups())
    return scale >= old_scale and digits - scale >= old_digits - old_scale
