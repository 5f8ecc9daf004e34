"""The compiled kernel (`kernel.c`): loops over bytes that Python would run once for each cell.

The wheel has it as a shared library if the machine that built it had a C compiler
(`hatch_build.py`). `kernel.h` defines its functions, for the compiler and for cffi, which knows it
by `kernel_types`, generated of it by `devtools.generators.kernel_types`. The library holds no
Python, so one build serves every interpreter of a platform, and building it takes no Python
headers: that is why cffi opens it (its ABI mode) instead of compiling a module of its own.

Without the library `library` returns None, and callers use slower numpy code.
"""

from __future__ import annotations

import logging
import sysconfig
import zlib
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import UInt8Array
from pyhudi_expr.tables.mdt.bytes.kernel_types import ffi

LIBRARY = Path(__file__).with_name(f"_kernel{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}")
_HEADER, _SOURCE = (LIBRARY.with_name(name) for name in ("kernel.h", "kernel.c"))
_C_ARRAYS = {
    np.dtype(element): ffi.typeof(array)
    for element, array in (
        (np.uint8, "uint8_t[]"),
        (np.int32, "int32_t[]"),
        (np.int64, "int64_t[]"),
        (np.uintp, "void *[]"),
    )
}

#: A pointer of cffi, which knows its C type.
Pointer: TypeAlias = Any
#: A library that cffi opened: it has the functions of `kernel.h` and checks their arguments.
Kernel: TypeAlias = Any


@cache
def library() -> Kernel | None:
    """Return the kernel; None, logged once, if it was not built or cannot be loaded."""
    try:
        kernel: Kernel = ffi.dlopen(str(LIBRARY))
        if kernel.kernel_source() == _checksum():
            return kernel
        reason = "it was built from other source: python hatch_build.py"
    except (OSError, AttributeError) as error:
        reason = str(error)
    logging.getLogger(__name__).warning(
        "the compiled kernel is not used, reading the metadata table takes longer: %s", reason
    )
    return None


def pointer(array: npt.NDArray[np.generic]) -> Pointer:
    """Return a pointer to a contiguous array, which keeps the array alive.

    Its C type is that of the elements, and cffi refuses it where the kernel takes another one.
    """
    return ffi.from_buffer(_C_ARRAYS[array.dtype], array)


def as_bytes(data: bytes) -> UInt8Array:
    """Return a buffer as an array, without a copy."""
    return np.frombuffer(data, np.uint8)


def _checksum() -> int:
    """Return the checksum of the source, as `hatch_build.py` computes it."""
    return zlib.crc32(_SOURCE.read_bytes(), zlib.crc32(_HEADER.read_bytes()))
