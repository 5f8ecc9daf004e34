"""A table as a source of Polars' lazy frames (``polars.io.plugins``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyhudi_expr.api.arguments import warn_if_unevaluated
from pyhudi_expr.expr.frontend.arrow.polars_expressions import conjuncts, parse_polars
from pyhudi_expr.installation import require_extra

if TYPE_CHECKING:
    import polars as pl

    from pyhudi_expr.api.scan import Scan, ScanRequest


def lazy_frame(scan: Scan) -> pl.LazyFrame:
    """Return the rows of a scan, which Polars filters: by its conditions files are pruned."""
    with require_extra("reading"):
        import polars as pl
        from polars.io.plugins import register_io_source
    schema = pl.from_arrow(scan.schema.empty_table()).schema
    return register_io_source(_Source(scan._request), schema=schema)


@dataclass(frozen=True)
class _Source:
    """Reads what a query of Polars needs.

    Attributes:
        request: All columns and rows of the frame.
    """

    request: ScanRequest

    def __call__(
        self,
        with_columns: Sequence[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Return the rows in pieces.

        Args:
            with_columns: The columns; None for all.
            predicate: What the rows have to match. It may have other columns.
            n_rows: Only so many rows are taken, before the predicate applies: by it no file is
                pruned then.
            batch_size: The most rows of a piece.
        """
        import polars as pl

        shown = list(self.request.columns if with_columns is None else with_columns)
        conditions = [] if predicate is None else list(conjuncts(predicate))
        compared = [name for one in conditions for name in one.meta.root_names()]
        columns = list(dict.fromkeys([*shown, *compared])) or list(self.request.columns[:1])
        schema = self.request.question.snapshot.schema
        pruned_by = [parse_polars(one, schema) for one in conditions] if n_rows is None else []
        rows = replace(self.request, columns=columns, limit=n_rows).rows(pruned_by)
        if pruned_by:
            warn_if_unevaluated(rows.result, str(predicate))
        yield pl.from_arrow(rows.schema.empty_table()).select(shown)  # the oldest needs a piece
        for batch in rows.batches():
            frame = pl.from_arrow(batch)
            matching = (frame.filter(conditions) if conditions else frame).select(shown)
            yield from matching.iter_slices(batch_size or max(1, matching.height))
