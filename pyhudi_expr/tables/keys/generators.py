"""Key generators over Arrow arrays: Hudi's own, joined values, and custom classes.

Their parts are values as Java's `toString` writes them, in whole columns.

==================  ==============================================================================
type                text (what Hudi's generators make of the Avro record, `HoodieAvroUtils`)
==================  ==============================================================================
text                as it is
integers, booleans  digits; `true`, `false`
date                `yyyy-MM-dd`; years after 9999 with a plus sign
timestamp           the stored number of units since 1970; with consistent logical timestamps
                    `yyyy-MM-dd HH:mm:ss.f` in the writer's zone, cut to milliseconds
without zone        the stored number of units since 1970
decimal             `BigDecimal`: plain, or with an exponent below 1e-6
float, double       `Float`, `Double`: plain from 1e-3 to 1e7, else with an exponent
binary              lower-case hexadecimal digits
==================  ==============================================================================

Large floating-point numbers are refused: before Java 19 some of them got more digits than needed,
so the text depends on the writer's JVM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, Int64Array, without_dictionary
from pyhudi_expr.errors import HudiError, UnsupportedTable

_TEXT = pa.string()
_LAST_FOUR_DIGITS = (np.datetime64("0000-01-01", "D"), np.datetime64("9999-12-31", "D"))
#: From here on the digits depend on the JVM (measured against Java 17 and 21's rule).
_AMBIGUOUS_DOUBLE, _AMBIGUOUS_FLOAT = 1e15, 1e6
#: Where Java's calendar and zones agree with Python's.
_GREGORIAN = np.datetime64("1582-10-15", "ms")
_STANDARD_TIME = np.datetime64("1900-01-02", "ms")
_FIVE_DIGIT_YEARS = np.datetime64("9999-12-31", "ms")


class AmbiguousText(UnsupportedTable):
    """A value that Hudi's writers do not all format alike."""


@dataclass(frozen=True)
class JavaText:
    """Formats values.

    Attributes:
        consistent_timestamps: Hudi's setting of that name.
        zone: The IANA zone of the writers' JVMs.
    """

    consistent_timestamps: bool = False
    zone: str = "UTC"

    def of(self, values: AnyArray, label: str) -> AnyArray:
        """Return the texts of a column; nulls stay null.

        Args:
            values: The column.
            label: Its name, for messages.

        Raises:
            AmbiguousText: The text of a type or value is not certain.
        """
        type_ = values.type
        if pa.types.is_dictionary(type_):
            return self.of(without_dictionary(values), label)
        if pa.types.is_null(type_):
            return pa.nulls(len(values), _TEXT)
        if pa.types.is_timestamp(type_):
            if self.consistent_timestamps and type_.tz is not None:
                return self._timestamp(values, label)
            return values.view(pa.int64()).cast(_TEXT)
        for is_kind, text in _TEXTS:
            if is_kind(type_):
                return text(values, label)
        raise AmbiguousText(f"{label} of type {type_} has no text that record keys could have")

    def _timestamp(self, values: AnyArray, label: str) -> AnyArray:
        """Return `java.sql.Timestamp` texts of whole milliseconds: Hudi divides towards zero."""
        units = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
        stored = np.asarray(pc.fill_null(values.view(pa.int64()), 0))
        ms = _towards_zero(stored, units) if units > 1 else stored * 1000
        moments = ms.astype("datetime64[ms]")
        first = _GREGORIAN if self.zone == "UTC" else _STANDARD_TIME
        if ((moments < first) | (moments > _FIVE_DIGIT_YEARS)).any():
            raise AmbiguousText(
                f"{label} has timestamps before {first} or after the year 9999: Java's calendars "
                "and zones differ there, so their keys cannot be spelled"
            )
        instants = pa.array(moments, pa.timestamp("ms"))
        local = pc.local_timestamp(pc.assume_timezone(instants, "UTC").cast(self._type))
        text = pc.replace_substring(local.cast(_TEXT), "T", " ")
        # Fractions lose trailing zeros, but for one digit.
        trimmed = pc.replace_substring_regex(text, r"(\.\d\d??)0+$", r"\1")
        return pc.if_else(pc.is_valid(values), trimmed, pa.scalar(None, _TEXT))

    @property
    def _type(self) -> pa.DataType:
        return pa.timestamp("ms", self.zone)


def _towards_zero(stored: Int64Array, units: int) -> Int64Array:
    found: Int64Array = np.sign(stored) * (np.abs(stored) // (units // 1000))
    return found


def _as_is(values: AnyArray, _label: str) -> AnyArray:
    return values.cast(_TEXT)


def _binary(values: AnyArray, _label: str) -> AnyArray:
    texts = [None if value is None else value.hex() for value in values.to_pylist()]
    return pa.array(texts, _TEXT)


def _date(values: AnyArray, label: str) -> AnyArray:
    days = np.asarray(pc.fill_null(values.cast(pa.int32()), 0)).astype("datetime64[D]")
    first, last = _LAST_FOUR_DIGITS
    if (days < first).any():
        raise AmbiguousText(f"{label} has dates before the year 0, which keys cannot have")
    texts = pa.array(np.datetime_as_string(days, "D").astype(object), _TEXT)
    signed = pc.binary_join_element_wise("+", texts, "")
    texts = pc.if_else(pa.array(days > last), signed, texts)
    return pc.if_else(pc.is_valid(values), texts, pa.scalar(None, _TEXT))


def _floating(values: AnyArray, label: str) -> AnyArray:
    """Return texts of floats; each distinct number is formatted once."""
    is_single = values.type == pa.float32()
    limit = _AMBIGUOUS_FLOAT if is_single else _AMBIGUOUS_DOUBLE
    encoded = values.dictionary_encode()
    numbers = encoded.dictionary.to_numpy(zero_copy_only=False)
    size = np.abs(numbers)
    if (np.isfinite(numbers) & (size >= limit)).any():
        raise AmbiguousText(
            f"{label} has numbers of {limit:.0e} or more, whose digits depend on the version of "
            "the writer's Java; their keys cannot be spelled"
        )
    texts = pa.array([_number(number) for number in numbers], _TEXT)
    return texts.take(encoded.indices)


def _number(number: np.floating[Any]) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if 1e-3 <= abs(number) < 1e7 or number == 0:
        return np.format_float_positional(number, unique=True, trim="0")
    mantissa, _, exponent = np.format_float_scientific(number, unique=True, trim="0").partition("e")
    if mantissa.lstrip("-").endswith(".0") and len(mantissa.lstrip("-")) == 3:
        # For one-digit numbers Java writes the two digits that are closest.
        mantissa = np.format_float_scientific(number, precision=1, unique=False).partition("e")[0]
    return f"{mantissa}E{int(exponent)}"


_TEXTS = (
    (pa.types.is_string, _as_is),
    (pa.types.is_large_string, _as_is),
    (pa.types.is_integer, _as_is),
    (pa.types.is_boolean, _as_is),
    (pa.types.is_date32, _date),
    (pa.types.is_decimal, _as_is),  # Arrow has adopted BigDecimal's rule
    (pa.types.is_float32, _floating),
    (pa.types.is_float64, _floating),
    (pa.types.is_binary, _binary),
    (pa.types.is_large_binary, _binary),
    (pa.types.is_fixed_size_binary, _binary),
)


NULL, EMPTY = "__null__", "__empty__"
"""For nulls and empty texts, where a key has several values."""
_GROUP = "pyhudi_expr.key_generators"
"""Entry points of packages that bring generators."""


class MissingKey(HudiError):  # noqa: N818 - names the finding, as its siblings do
    """A row without a key; the message has the column and the row's key columns."""


class KeyGenerator(Protocol):
    """Computes keys. It is sent to Spark's tasks, so it has to be picklable."""

    def keys(self, columns: Sequence[AnyArray]) -> AnyArray:
        """Return one text for each row, never null.

        Equal values must give equal keys.

        Args:
            columns: The key's columns in their order, of one length.

        Raises:
            HudiError: A row has no key.
        """


GeneratorFactory = Callable[[tuple[str, ...]], KeyGenerator]
"""Makes a generator for key columns of these names."""


@dataclass(frozen=True)
class HudiKeys:
    """Hudi's generators: the value of one column, or `a:value,b:value`.

    A null is `__null__` in the second form and an empty text `__empty__`; a key of only these is
    refused, as by Hudi. Values are formatted as Java does.

    Attributes:
        are_named: Whether the second form is used.
    """

    columns: tuple[str, ...]
    are_named: bool
    text: JavaText = field(default_factory=JavaText)

    def keys(self, columns: Sequence[AnyArray]) -> AnyArray:
        """Return the keys, see `KeyGenerator.keys`."""
        texts = _texts(self.columns, columns, self.text)
        blank = [pc.fill_null(pc.equal(text, ""), True) for text in texts]
        _require_a_part(self.columns, columns, blank)
        if not self.are_named:
            return texts[0]
        named = [
            pc.binary_join_element_wise(f"{name}:", _filled(text), "")
            for name, text in zip(self.columns, texts, strict=True)
        ]
        return pc.binary_join_element_wise(*named, ",")


@dataclass(frozen=True)
class JoinedKeys:
    """The values of several columns with a separator: a concatenator that Hudi does not have.

    Nulls are refused: they would look like another row's empty texts.
    """

    columns: tuple[str, ...]
    concatenator: str
    text: JavaText = field(default_factory=JavaText)

    def keys(self, columns: Sequence[AnyArray]) -> AnyArray:
        """Return the keys, see `KeyGenerator.keys`."""
        for name, column in zip(self.columns, columns, strict=True):
            _require_a_part((name,), (column,), [pc.is_null(column)])
        texts = _texts(self.columns, columns, self.text)
        return pc.binary_join_element_wise(*texts, self.concatenator)


_registered: dict[str, GeneratorFactory] = {}


def register(name: str, factory: GeneratorFactory) -> None:
    """Register a custom class under a name in this process."""
    _registered[name] = factory


def registered(name: str) -> GeneratorFactory:
    """Return the generator that was registered, or that an installed package provides.

    A table cannot name code that its reader has not chosen.

    Raises:
        UnsupportedTable: There is no such generator.
    """
    if name in _registered:
        return _registered[name]
    from importlib.metadata import (
        entry_points,
    )  # on use: few tables need it, and the import takes time

    for point in entry_points(group=_GROUP):
        if point.name == name:
            factory: GeneratorFactory = point.load()
            return factory
    raise UnsupportedTable(
        f"the key generator {name!r} is not known here: register it "
        f"(pyhudi_expr.tables.keys.generators.register), or install a package with an entry point "
        f"of that name in the group {_GROUP!r}"
    )


def _texts(names: Sequence[str], columns: Sequence[AnyArray], text: JavaText) -> list[AnyArray]:
    pairs = zip(names, columns, strict=True)
    return [text.of(column, f"the key column {name!r}") for name, column in pairs]


def _filled(texts: AnyArray) -> AnyArray:
    present = pc.fill_null(texts, NULL)
    return pc.if_else(pc.equal(present, ""), EMPTY, present)


def _require_a_part(
    names: Sequence[str], columns: Sequence[AnyArray], blank: Sequence[AnyArray]
) -> None:
    """Raise MissingKey if all parts of a row's key are blank."""
    missing = blank[0]
    for other in blank[1:]:
        missing = pc.and_(missing, other)
    row = pc.index(missing, True).as_py()
    if row >= 0:
        example = {name: column[row].as_py() for name, column in zip(names, columns, strict=True)}
        raise MissingKey(f"a row has no key: {', '.join(names)} null or empty, as in {example}")
