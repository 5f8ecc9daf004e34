"""Generate what cffi knows of the compiled kernel, from its header.

`python -m devtools.generators.kernel_types` writes it. To parse the header takes a part of the time
of a first answer, and a parser of C, so it is done when the header changes, and not by every
process.
"""

import argparse
from pathlib import Path

from cffi import FFI

from devtools.runtime import ROOT

_HEADER = ROOT / "pyhudi_expr/tables/mdt/bytes/kernel.h"
_MODULE = "pyhudi_expr.tables.mdt.bytes.kernel_types"
TARGET = _HEADER.with_name("kernel_types.py")


def generate(target: Path) -> None:
    """Write the module."""
    ffi = FFI()
    ffi.set_source(_MODULE, None)  # of a library that is opened, and not compiled by cffi
    ffi.cdef(_HEADER.read_text())
    ffi.emit_python_code(str(target))


if __name__ == "__main__":
    argparse.ArgumentParser("devtools.generators.kernel_types", description=__doc__).parse_args()
    generate(TARGET)
