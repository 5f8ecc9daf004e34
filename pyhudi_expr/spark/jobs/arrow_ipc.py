"""Arrow tables in a binary column, from Spark's tasks to the driver."""

from __future__ import annotations

import pyarrow as pa


def to_ipc(rows: pa.Table | pa.RecordBatch) -> bytes:
    """Return the rows with their schema as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_ipc(stream: bytes | bytearray) -> pa.Table:
    """Return the inverse of `to_ipc`."""
    return pa.ipc.open_stream(pa.py_buffer(stream)).read_all()
