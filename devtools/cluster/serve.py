"""Run `pyhudi` with hdfs://AUTHORITY read by WebHDFS: Hadoop's native library is in no artifact."""

import argparse
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
    parser = argparse.ArgumentParser(prog="devtools.cluster.serve", description=__doc__)
    parser.add_argument("hdfs", help="hdfs://AUTHORITY")
    parser.add_argument("webhdfs", help="webhdfs://AUTHORITY")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a command of pyhudi")
    given = parser.parse_args()
    _read_by(given.hdfs, given.webhdfs)
    sys.argv[1:] = given.command
    sys.exit(main())
