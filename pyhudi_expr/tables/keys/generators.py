"""Key generators over Arrow arrays: Hudi's own, joined values, and custom classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.tables.keys.java_text import JavaText

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
    refused, as by Hudi. Values are formatted by `java_text`.

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
