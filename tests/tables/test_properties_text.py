"""Properties files are read as Java and as the package that writes them read them."""

from __future__ import annotations

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.properties import parse_properties

_PIECES = st.sampled_from(
    [*"\\\n\r \t\f=:#!abtné\0", "\r\n", "\\u0041", "\\u00", "\\uD83D\\uDE00", "\\uD83D", "\\\\"]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_any_text_is_read_as_javaproperties_reads_it(text: str) -> None:
    content = text.encode("latin-1")
    try:
        expected = dict(javaproperties.loads(content))
    except javaproperties.InvalidUEscapeError:
        with pytest.raises(ValueError, match="hexadecimal"):
            parse_properties(content)
    else:
        assert parse_properties(content) == expected


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text("aé\\ =\n😀")))
def test_what_javaproperties_writes_is_read(properties: dict[str, str]) -> None:
    content = javaproperties.dumps(properties, timestamp=False).encode("latin-1")
    assert parse_properties(content) == properties
