"""Run `pyhudi` with hdfs://AUTHORITY read by WebHDFS: Hadoop's native library is in no artifact.

`python -m devtools.cluster.serve hdfs://AUTHORITY webhdfs://AUTHORITY COMMAND ...`
"""

import sys
from collections.abc import Mapping

from pyhudi_expr.cli.main import main
from pyhudi_expr.table.storage import locations, storage


def _read_by(hdfs: str, webhdfs: str) -> None:
    located = locations.locate

    def locate(uri: str, options: Mapping[str, str]) -> locations.Location:
        return located(uri.replace(f"{hdfs}/", f"{webhdfs}/", 1), options)

    for module in (locations, storage):
        module.locate = locate


if __name__ == "__main__":
    _read_by(*sys.argv[1:3])
    sys.argv[1:3] = []
    sys.exit(main())
