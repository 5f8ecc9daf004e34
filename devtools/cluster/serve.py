"""Run `pyhudi` with hdfs://AUTHORITY read by WebHDFS: Hadoop's native library is in no artifact.

`python -m devtools.cluster.serve hdfs://AUTHORITY webhdfs://AUTHORITY COMMAND ...`
"""

import sys
from collections.abc import Mapping
from importlib import import_module

from pyhudi_expr.cli.main import main
from pyhudi_expr.table.storage.locations import Location, locate

_USERS = ("locations", "storage")


def _read_by(hdfs: str, webhdfs: str) -> None:
    def locate_there(uri: str, options: Mapping[str, str]) -> Location:
        return locate(uri.replace(f"{hdfs}/", f"{webhdfs}/", 1), options)

    for name in _USERS:
        vars(import_module(f"pyhudi_expr.table.storage.{name}"))["locate"] = locate_there


if __name__ == "__main__":
    _read_by(*sys.argv[1:3])
    sys.argv[1:3] = []
    sys.exit(main())
