"""What the classes of a jar refer to, from their constant pools (JVM specification, 4.4)."""

from __future__ import annotations

import re
import struct
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

#: The bytes of each constant behind its tag; of texts they follow from their length.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4}
_SIZES |= {15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TEXT, _CLASS, _MEMBERS, _NAME_AND_TYPE, _WIDE = 1, 7, (9, 10, 11), 12, (5, 6)


def references(jar: Path, classes: str, owners: str) -> Mapping[str, frozenset[str]]:
    """Members of some classes that others refer to.

    Args:
        jar: The jar.
        classes: A regular expression for the beginning of the names of classes that refer.
        owners: A regular expression for the names of classes whose members are referred to.

    Returns:
        The names of the classes that refer, by the name of the field or method.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(".class") and re.match(classes, name):
                for owner, member in _members(archive.read(name)):
                    if re.fullmatch(owners, owner):
                        found[member].add(name.removesuffix(".class"))
    return {member: frozenset(names) for member, names in found.items()}


def _members(data: bytes) -> Iterator[tuple[str, str]]:
    """The owner and name of each field and method that a class refers to."""
    texts: dict[int, str] = {}
    pairs: dict[int, tuple[int, ...]] = {}
    members: list[int] = []
    (count,) = struct.unpack_from(">H", data, 8)
    at, number = 10, 1
    while number < count:
        tag, at = data[at], at + 1
        if tag == _TEXT:
            (size,) = struct.unpack_from(">H", data, at)
            texts[number] = data[at + 2 : at + 2 + size].decode("utf-8", "replace")
            size += 2
        else:
            size = _SIZES[tag]
            if tag == _CLASS:
                pairs[number] = struct.unpack_from(">H", data, at)
            elif tag in _MEMBERS or tag == _NAME_AND_TYPE:
                pairs[number] = struct.unpack_from(">HH", data, at)
            if tag in _MEMBERS:
                members.append(number)
        at += size
        number += 2 if tag in _WIDE else 1
    for member in members:
        owner, name = pairs[member]
        yield texts[pairs[owner][0]], texts[pairs[name][0]]
