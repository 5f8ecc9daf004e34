"""Parse Java's properties files, as `java.util.Properties.load` does.

The package javaproperties writes them. To import it takes longer than an answer, as it also reads
XML, and most of the standard library's HTTP with it.
"""

from __future__ import annotations

import re

#: A comment, or a line with the lines that continue it; before it white space, which may be all.
_LINE = re.compile(r"[ \t\f\r\n]*(?:[#!][^\r\n]*|((?:[^\\\r\n]+|\\(?:\r\n|[\s\S]|\Z))+)|\Z)")
_CONTINUED = re.compile(r"\\(?:(?:\r\n|\r|\n)[ \t\f]*|\Z)|(\\[^\r\n])")
_KEY = re.compile(r"((?:[^\\=: \t\f]+|\\[\s\S])*)[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\s\S]))")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(content: bytes) -> dict[str, str]:
    """Return the properties of a file; of equal keys the last one.

    Raises:
        ValueError: An escape with `u` is not followed by four hexadecimal digits.
    """
    found: dict[str, str] = {}
    for match in _LINE.finditer(content.decode("latin-1")):
        if match[1] is None:
            continue
        line = _CONTINUED.sub(lambda part: part[1] or "", match[1])
        if not line:
            continue
        key = _KEY.match(line)
        assert key is not None  # it may be empty
        found[_unescaped(key[1])] = _unescaped(line[key.end() :])
    return found


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    # Java writes a character beyond 16 bits as two.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: re.Match[str]) -> str:
    digits, letter = escape.groups()
    if digits is not None:
        return chr(int(digits, 16))
    if letter == "u":
        raise ValueError("an escape with u has not four hexadecimal digits")
    return _LETTERS.get(letter, letter)
