"""HFiles and log files as bytes, built independently of the library's own writer.

Tests can contain what no current writer writes: two index levels, checksums, keys sorted as Java
sorts texts, several blocks in one log file.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

_HEADER = struct.Struct(">8siiqBii")
_SUFFIX = b"\x00\x7f" + b"\xff" * 7 + b"\x04"


def hfile(
    cells: Iterable[tuple[bytes, bytes]],
    *,
    schema: str = '"bytes"',
    block_size: int = 1024,
    gzip: bool = True,
    levels: int = 1,
    crc32: bool = False,
    info: Mapping[bytes, bytes] = MappingProxyType({b"KEY_VALUE_VERSION": b"\0\0\0\1"}),
) -> bytes:
    """An HFile of version 3. `cells` are written in their order; `levels` is 1 or 2.

    `info` are the entries of the file info beside the schema.
    """
    out = b""
    index: list[tuple[bytes, int, int]] = []
    cells = list(cells)
    block, first = b"", b""
    for number, (row, value) in enumerate(cells):
        key = struct.pack(">H", len(row)) + row + _SUFFIX
        first = first if block else row
        block += struct.pack(">ii", len(key), len(value)) + key + value + b"\0"
        if len(block) >= block_size or number == len(cells) - 1:
            written = _block(b"DATABLK*", block, gzip, crc32)
            index.append((first, len(out), len(written)))
            out, block = out + written, b""
    if levels == 2:
        leaf = _block(b"IDXLEAF2", _leaf(index), gzip, crc32)
        index = [(index[0][0], len(out), len(leaf))]
        out += leaf
    load_on_open = len(out)
    root = b"".join(
        struct.pack(">qi", offset, size) + _vint(len(row) + 2) + struct.pack(">H", len(row)) + row
        for row, offset, size in index
    )
    out += _block(b"IDXROOT2", root, gzip, crc32)
    file_info = len(out)
    pairs = {b"schema": schema.encode(), **info}
    out += _block(b"FILEINF2", _file_info(pairs), gzip, crc32)
    numbers = {1: file_info, 2: load_on_open, 5: len(index), 7: len(cells), 8: levels}
    numbers[12] = 1 if gzip else 2
    message = b"".join(_varint(tag << 3) + _varint(value) for tag, value in numbers.items())
    trailer = b'TRABLK"$' + _varint(len(message)) + message
    return out + trailer.ljust(4092, b"\0") + b"\x03\x00\x00\x03"


def with_renamed_info(content: bytes, key: bytes) -> bytes:
    """An HFile whose file info, its last block, has another name for a key: readers miss it."""
    at = content.rindex(b"FILEINF2")
    *_, end = _HEADER.unpack_from(content, at)
    data = content[at + _HEADER.size : at + end]
    gzip = data.startswith(b"\x1f\x8b")
    info = zlib.decompress(data, wbits=31) if gzip else data
    assert key in info
    renamed = info.replace(key, b"X" * len(key))
    return content[:at] + _block(b"FILEINF2", renamed, gzip, crc32=False) + content[-4096:]


def log_block(
    instant: str,
    content: bytes,
    *,
    kind: int = 4,
    header: Mapping[int, str] | None = None,
) -> bytes:
    """One block of a log file; kind 4 holds an HFile, 1 deletions, 0 a command."""
    entries = {0: instant, **(header or {})}
    body = struct.pack(">ii", 1, kind) + struct.pack(">i", len(entries))
    for key, text in entries.items():
        body += struct.pack(">ii", key, len(text.encode())) + text.encode()
    body += struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    length = len(body) + 8
    return b"#HUDI#" + struct.pack(">q", length) + body + struct.pack(">q", length + 6)


def delete_block(instant: str, keys: Iterable[str]) -> bytes:
    """A block that deletes keys (version 3: an Avro list)."""
    records = b"".join(
        b"\x02" + _zigzag(len(key.encode())) + key.encode() + b"\x00\x00" for key in keys
    )
    listed = (_zigzag(len(list(keys))) + records if records else b"") + b"\0"
    return log_block(instant, struct.pack(">ii", 3, len(listed)) + listed, kind=1)


def _block(magic: bytes, content: bytes, gzip: bool, crc32: bool) -> bytes:
    data = content
    if gzip:
        deflate = zlib.compressobj(wbits=31)
        data = deflate.compress(content) + deflate.flush()
    with_header = _HEADER.size + len(data)
    checksums = 4 * -(-with_header // 16384)
    sizes = (len(data) + checksums, len(content), -1, int(crc32), 16384, with_header)
    block = _HEADER.pack(magic, *sizes) + data
    if not crc32:
        return block + bytes(checksums)
    chunks = (block[at : at + 16384] for at in range(0, len(block), 16384))
    return block + b"".join(struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)


def _leaf(index: list[tuple[bytes, int, int]]) -> bytes:
    entries = [struct.pack(">qiH", offset, size, len(row)) + row for row, offset, size in index]
    starts = [sum(map(len, entries[:i])) for i in range(len(entries) + 1)]
    return struct.pack(f">i{len(starts)}i", len(entries), *starts) + b"".join(entries)


def _file_info(pairs: Mapping[bytes, bytes]) -> bytes:
    entries = b""
    for key, value in pairs.items():
        pair = b"\x0a" + _varint(len(key)) + key + b"\x12" + _varint(len(value)) + value
        entries += b"\x0a" + _varint(len(pair)) + pair
    return b"PBUF" + _varint(len(entries)) + entries


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _zigzag(value: int) -> bytes:
    return _varint(value << 1)


def _vint(value: int) -> bytes:
    """Hadoop's variable-length encoding of a non-negative number."""
    if value <= 127:
        return bytes([value])
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(digits)]) + digits
