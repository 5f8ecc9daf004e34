"""What Hive needs otherwise than DuckDB, named by query so that every change is seen."""

import re
from collections.abc import Mapping
from types import MappingProxyType

_ROLLUP_86 = "WHEN grouping(i_category)+grouping(i_class) = 0 THEN i_category"
_REPLACED: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        # Hive refuses the first ("Correlating expression contains ambiguous column references");
        # grouping() of a rollup in ORDER BY is that of another column there.
        ("tpcds", "70"): (
            (
                "(SELECT s_state\n     FROM\n       (SELECT s_state AS s_state,",
                "(SELECT st\n     FROM\n       (SELECT s_state AS st,",
            ),
            (
                "WHEN grouping(s_state)+grouping(s_county) = 0 THEN s_state\n         END ,",
                "WHEN lochierarchy = 0 THEN s_state\n         END ,",
            ),
        ),
        # In ORDER BY: "grouping() requires at least 2 argument, got 1".
        ("tpcds", "86"): (
            (
                f"{_ROLLUP_86}\n         END NULLS",
                "WHEN lochierarchy = 0 THEN i_category\n         END NULLS",
            ),
        ),
    }
)
# An alias in double quotes is a string in Hive.
_QUOTED_NAME = re.compile(r'"([^"\n]+)"')


def hive_text(suite: str, number: str, query: str) -> str:
    """Return DuckDB's text of a query as Hive takes it.

    Raises:
        ValueError: The text does not have what is to be replaced.
    """
    text = _QUOTED_NAME.sub(r"`\1`", query)
    for old, new in _REPLACED.get((suite, number), ()):
        if old not in text:
            raise ValueError(f"query {number} of {suite} has no {old!r}")
        text = text.replace(old, new)
    return text
