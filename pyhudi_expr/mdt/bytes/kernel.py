"""The compiled kernel (`kernel.c`): loops over bytes that Python would run once for each cell.

The wheel has it as a shared library if the machine that built it had a C compiler
(`hatch_build.py`). It is called through ctypes, with buffers that are allocated here. Without it,
`library` returns None and callers use slower numpy code.

Every function checks the bytes against the buffer's end. Callers ensure that starts and ends lie
within the buffer, as they do when they come from one of these functions.
"""

from __future__ import annotations

import ctypes
import logging
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import UInt8Array

LIBRARY = Path(__file__).with_name(f"_kernel{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}")
_ABI = 2

_POINTER, _LONG, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "kernel_abi": (_INT, []),
    "kernel_cells": (_LONG, [_POINTER, _LONG, _LONG, _INT, _LONG, *[_POINTER] * 4]),
    "kernel_search": (
        _LONG,
        [_POINTER, _POINTER, _POINTER, _LONG, _POINTER, _POINTER, _POINTER, _LONG, _POINTER],
    ),
    "kernel_index": (_LONG, [_POINTER, _POINTER, _POINTER, _LONG, _POINTER, _LONG]),
    "kernel_find": (
        None,
        [*[_POINTER] * 4, _LONG, _POINTER, _POINTER, _POINTER, _LONG, _POINTER],
    ),
    "kernel_gather": (_LONG, [_POINTER, _POINTER, _POINTER, _LONG, _POINTER, _LONG]),
    "kernel_avro": (
        _LONG,
        [_POINTER, _POINTER, _POINTER, _LONG, _POINTER, _INT, _INT, *[_POINTER] * 4],
    ),
}


@cache
def library() -> ctypes.CDLL | None:
    """Return the kernel; None, logged once, if it was not built or cannot be loaded."""
    try:
        found = ctypes.CDLL(str(LIBRARY))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
        if found.kernel_abi() == _ABI:
            return found
        reason = "it was built from other source"
    except (OSError, AttributeError) as error:
        reason = str(error)
    logging.getLogger(__name__).warning(
        "the compiled kernel is not used, reading the metadata table takes longer: %s", reason
    )
    return None


def address(array: npt.NDArray[Any]) -> int:
    """Return the address of a contiguous array's bytes, valid as long as the array lives."""
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous")
    return int(array.ctypes.data)


def as_bytes(data: bytes) -> UInt8Array:
    """Return a buffer as an array, without a copy."""
    return np.frombuffer(data, np.uint8)
