"""Encode the rows of kept files for the protocol."""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.arrays import string_list
from pyhudi_expr.index.kept_rows import KeptRows, RowOptions
from pyhudi_expr.protocol.generated.ttypes import SelectedRows
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.tables.listing import FileListing


def row_options(settings: ServiceSettings) -> RowOptions:
    """Return which files are evaluated, by the settings."""
    return RowOptions(
        most_files=settings.row_files,
        least_bytes=settings.row_file_bytes,
        seconds=settings.row_seconds,
        cache_bytes=settings.row_cache_bytes,
    )


def selected_rows(kept: KeptRows, listing: FileListing) -> list[SelectedRows]:
    """Return the files that need not be read whole, with their rows that can match."""
    names = string_list(listing.file_name.take(pa.array(kept.files)))
    partitions = listing.file_partition[kept.files].tolist()
    answer = []
    for rows, name, partition in zip(kept.rows, names, partitions, strict=True):
        if rows.is_whole:
            continue
        footer = rows.file.footer
        answer.append(
            SelectedRows(
                partitionPath=listing.partition_paths[partition],
                fileName=name,
                fileSize=footer.size,
                footerDigest=footer.digest,
                rangeStarts=rows.starts.tolist(),
                rangeEnds=rows.ends.tolist(),
                rowGroupRows=footer.group_rows.tolist(),
                rowGroupOffsets=footer.group_offsets.tolist(),
                rowGroupBytes=footer.group_bytes.tolist(),
            )
        )
    return answer
