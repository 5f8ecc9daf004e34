"""Describe a table and its indexes as reports, and what each part of a predicate excludes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from pyhudi_expr.api.display import size_text
from pyhudi_expr.api.explanation_lines import ExplanationLine, explanation_lines
from pyhudi_expr.arrays import string_list
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog, reading_catalog, reading_indexes
from pyhudi_expr.index.catalog.index_sizes import PartitionSize, index_sizes
from pyhudi_expr.index.catalog.status import IndexStatus, checked_statuses, no_such_index
from pyhudi_expr.index.explanation import Explanation
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline import Timeline


def index_reports(catalog: IndexCatalog, name: str | None = None) -> list[reports.Report]:
    """Return a report of each index, or of the one of this name. Raises HudiError."""
    every = checked_statuses(catalog)
    found = [one for one in every if name is None or name in (one.name, *one.partitions)]
    if name is not None and not found:
        raise HudiError(no_such_index(catalog.table, name))
    return list(map(_sized, found, index_sizes(catalog, found)))


def print_stats(base_path: str, name: str | None, as_json: bool) -> None:
    """Print the reports of a table's indexes, or of one of them."""
    with (
        progress_while("reading the indexes"),
        reading_catalog(Storage.open(base_path)) as catalog,
    ):
        found = index_reports(catalog, name)
    if as_json:
        echo(reports.as_json({"indexes": found}))
        return
    output = Table()
    for header in ("name", "kind", "state", "covers"):
        output.add_column(header, overflow="fold", no_wrap=header == "name")
    for header in ("entries", "shards", "size", "log files", "size of logs"):
        output.add_column(header, justify="right")
    for each in found:
        parts = each["metadata_partitions"]
        counts = [sum(part[key] for part in parts) for key in ("entries", "shards", "log_files")]
        logs = sum(part["log_bytes"] for part in parts)
        row = (each["name"], each["kind"], each["state"], each["covers"] or "-")
        sizes = size_text(each["bytes"]), size_text(logs)
        output.add_row(*row, f"{counts[0]:,}", str(counts[1]), sizes[0], str(counts[2]), sizes[1])
    reports.print_table(output)


def _sized(status: IndexStatus, sizes: list[PartitionSize]) -> reports.Report:
    return {
        **reports.index_report(status),
        "bytes": sum(size.bytes for size in sizes),
        "metadata_partitions": [asdict(size) for size in sizes],
    }


_INDENT = "  "


def print_explanation(predicate: str, explanation: Explanation) -> None:
    """Print a line for each part of the predicate, as the user wrote it."""
    lines = list(explanation_lines(predicate, explanation))
    output = _table("by")
    for line in lines:
        output.add_row(*_cells(line), line.by)
    reports.print_table(output, instead=lambda: _narrow(lines))


def print_details(predicate: str, explanation: Explanation) -> None:
    """Print rows and times as well, and what each index lacks."""
    output = _table("rows", "ms", "by")
    for line in explanation_lines(predicate, explanation):
        rows = line.node.excluded_rows
        of_rows = "" if rows is None else f"{rows:,}"
        output.add_row(*_cells(line), of_rows, f"{1000 * line.node.seconds:.1f}", line.by)
        lacking = () if line.node.children else line.node.answers
        for answer in lacking:
            if answer.reason:
                label = Text(_INDENT * (line.depth + 1) + answer.index, "dim")
                output.add_row(label, "", "", "", "", Text(answer.reason, "dim"))
    reports.print_table(output)


def _narrow(lines: Sequence[ExplanationLine]) -> Iterator[Text]:
    """Return each part with what it skips below, for terminals that are narrower than the table."""
    for line in lines:
        yield Text(line.label)
        files, size = _cells(line)[1:]
        text = Text.assemble(_INDENT * (line.depth + 2), "skips ", files, " files")
        text.append(f", {size}" if size else "")
        yield text.append(f": {line.by}" if line.by else "")


def _table(*headings: str) -> Table:
    output = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    output.add_column("part of the condition", overflow="fold")
    for heading in ("files skipped", "size", *headings):
        is_text = heading == "by"
        output.add_column(heading, justify="left" if is_text else "right", overflow="fold")
    return output


def _cells(line: ExplanationLine) -> tuple[Text, Text, str]:
    return (
        Text(line.label),
        Text(line.files, "green" if line.node.excluded else "yellow"),
        line.size,
    )


Report = dict[str, Any]
_SHOWN_PARTITIONS = 10
"""At the beginning, and at the end."""


def inspect_table(base_path: str) -> Report:
    """Return properties, timeline, files, schema and indexes of the table as it is now.

    A broken metadata table is part of the report.

    Raises:
        HudiError: The table cannot be read.
    """
    with reading_indexes(Storage.open(base_path)) as table:
        return _report(table, base_path)


def _report(table: HudiTable, base_path: str) -> Report:
    mdt, metadata = _metadata(table)
    if mdt is not None:
        table = mdt.table  # opening it may have read a newer state of the table
    listing, listed_by = _listing(table, mdt)
    return {
        "table": base_path,
        **_properties(table.properties),
        "instant": table.instant,
        "timeline": _timeline(table.timeline),
        "files": {**_files(listing), "listed_by": listed_by},
        "partitions": _partitions(listing),
        "schema": {field.name: str(field.type) for field in table.schema()},
        **_indexes(table, mdt),
        "metadata_table": metadata,
    }


def _listing(table: HudiTable, mdt: MetadataTable | None) -> tuple[FileListing, str]:
    """Return the newest file slices, and where the files were listed."""
    if mdt is not None and mdt.lists_files:
        try:
            return current_listing(table, mdt, TableView.SNAPSHOT), "metadata table"
        except HudiError as error:
            return table.listing(), f"storage, as the metadata table cannot: {error}"
    return table.listing(), "storage"


def as_text(report: Report) -> str:
    """Return the report as lines, one for each index, with sizes for people."""
    indexes = {each["name"]: _index_line(each) for each in report["indexes"]}
    files = {name: value for name, value in report["files"].items() if name != "bytes"}
    files["size"] = size_text(report["files"]["bytes"])
    partitions = {name or "(not partitioned)": size for name, size in report["partitions"].items()}
    shown = {**report, "files": files, "partitions": _some(partitions)}
    return reports.as_text({**shown, "indexes": indexes or None})


def _some(partitions: Mapping[str, int]) -> Mapping[str, int | str]:
    """Return the first and the last partitions, if there are many."""
    if len(partitions) <= 2 * _SHOWN_PARTITIONS + 1:
        return partitions
    every = list(partitions.items())
    first, last = every[:_SHOWN_PARTITIONS], every[-_SHOWN_PARTITIONS:]
    others = f"{len(every) - 2 * _SHOWN_PARTITIONS:,} others (--json has them)"
    return {**dict(first), "...": others, **dict(last)}


def _index_line(index: Report) -> str:
    columns = ", ".join(index["columns"])
    kind = f"{index['kind']} of {columns}" if columns else index["kind"]
    size = f"{size_text(index['bytes'])} in {index['store']}"
    covers = f"covers {index['covers']}" if index["covers"] else "covers nothing"
    return "; ".join(filter(None, (index["state"], covers, size, kind, index["note"])))


def _properties(properties: TableProperties) -> Report:
    return {
        "name": properties.name,
        "type": properties.table_type.value,
        "table_version": properties.version,
        "timeline_layout": properties.timeline_layout,
        "record_key_fields": list(properties.record_key_fields),
        "partition_fields": list(properties.partition_fields),
        "ordering_fields": list(properties.ordering_fields),
        "hive_style_partitioning": properties.hive_style_partitioning,
        "meta_fields": properties.meta_fields,
        "merge_mode": properties.merge_mode or None,
    }


def _timeline(timeline: Timeline) -> Report:
    completed = Counter(one.action for one in timeline.instants if one.is_completed)
    writes = [one.requested for one in timeline.writes]
    return {
        "completed": dict(sorted(completed.items())),
        "first_write": writes[0] if writes else None,
        "last_write": writes[-1] if writes else None,
        "pending": sorted(
            f"{one.requested} {one.action}" for one in timeline.instants if not one.is_completed
        ),
    }


def _files(listing: FileListing) -> Report:
    logs = int(np.count_nonzero(listing.file_is_log))
    return {
        "partitions": len(listing.partitions),
        "file_slices": listing.num_slices,
        "base_files": listing.num_files - logs,
        "log_files": logs,
        "bytes": int(listing.file_size.sum()),
    }


def _partitions(listing: FileListing) -> Report:
    counts = np.diff(listing.partition_file_bounds).tolist()
    return dict(zip(string_list(listing.partitions), counts, strict=True))


def _indexes(table: HudiTable, mdt: MetadataTable | None) -> Report:
    if mdt is None and table.properties.metadata_partitions:
        return {"indexes": []}  # the metadata table's report says why
    try:
        return {"indexes": index_reports(IndexCatalog.of(table, mdt))}
    except HudiError as error:
        return {"indexes": [], "indexes_error": str(error)}


def _metadata(table: HudiTable) -> tuple[MetadataTable | None, Report | None]:
    """Return the metadata table, its indexes and their newest instant; None if there is none."""
    try:
        mdt = MetadataTable.open(table)
    except HudiError as error:
        return None, {"error": str(error)}
    if mdt is None:
        return None, None
    newest = mdt.table.instant
    return mdt, {
        "indexes": sorted(mdt.partitions),
        "being_built": sorted(mdt.table.properties.metadata_partitions_inflight),
        "instant": mdt.instant,
        "up_to_date": newest is not None and mdt.covers(newest),
    }
