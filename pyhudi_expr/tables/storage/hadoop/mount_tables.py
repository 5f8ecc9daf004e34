"""Mount tables of ViewFS: which file system holds a path of `viewfs://`.

References: ViewFs of Hadoop's documents; `link`, `linkFallback` and `linkMergeSlash` of its
settings. The other kinds of links (`linkMerge`, `linkNfly`, `linkRegex`) are not followed.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage.hadoop.configuration import hadoop_settings, searched
from pyhudi_expr.tables.storage.hadoop.name_nodes import default_authority

_PREFIX = "fs.viewfs.mounttable"


def mounted_at(authority: str, path: str, options: Mapping[str, str]) -> str:
    """Return the URI in the file system that holds `viewfs://authority/path`.

    Raises:
        HudiError: No link of the mount table holds the path.
    """
    settings = hadoop_settings(options)
    default = settings.get(f"{_PREFIX}.default.name.key", "default")
    table = authority or default_authority(settings, "viewfs") or default
    parts = [part for part in path.split("/") if part]
    for depth in range(len(parts), 0, -1):
        target = settings.get(f"{_PREFIX}.{table}.link./{'/'.join(parts[:depth])}")
        if target:
            return "/".join([target.rstrip("/"), *parts[depth:]])
    for of_root in ("linkMergeSlash", "linkFallback"):
        target = settings.get(f"{_PREFIX}.{table}.{of_root}")
        if target:
            return "/".join([target.rstrip("/"), *parts])
    raise HudiError(
        f"no link of the mount table {table!r} holds the path: expected"
        f" {_PREFIX}.{table}.link./DIRECTORY in core-site.xml; {searched(options)}"
    )
