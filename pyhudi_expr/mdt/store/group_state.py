"""What determines the records of file groups, as a text: equal states have equal records."""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.mdt.store.file_group import FileGroup


def group_states(groups: Sequence[FileGroup]) -> list[object] | None:
    """Return the files and log blocks that the groups are merged from; None if one is not known.

    The values can be encoded as JSON.

    Raises:
        CorruptFile: A file is damaged.
    """
    states: list[object] = []
    for group in groups:
        base = group.base_identity("")
        modified = {log.path: log.modified_ns for log, _ in group.logs}
        if (group.base is not None and base is None) or None in modified.values():
            return None
        blocks = [
            [
                source.path,
                modified.get(source.path),
                source.block.kind.name,
                source.block.instant,
                source.block.offset,
                source.block.length,
            ]
            for source, _, _ in group.sources[1]
        ]
        states.append([base and [base.file, base.size, base.modified_ns, base.tail], blocks])
    return states
