"""Buckets: the file groups that can hold a key, where the writers have a bucket index.

A writer with a simple one puts a row into the file group of its partition whose id begins, in
eight digits, with ``(texts.hashCode() & Integer.MAX_VALUE) % number``: Java's hash of a list of
texts, which are taken from the record key. So equalities on all of the hashed columns name the file
groups.

The table says neither that it has buckets nor how many: a catalog, a session or a caller states it
(`StatedBuckets`). That all rows of a partition were written by this index, with one number, is
trusted, as a declared schema is. The number is not: it is proved, for each partition.

* The ids of all its file groups begin with numbers, all less than the number of buckets.
* The least and the greatest record key of a file are keys of its rows. If one of them has the hash
  h, in the file group p, the number of buckets divides h - p. So it divides the greatest common
  divisor of all these differences, and few of the divisors are greater than each p: mostly one.
* The stated number is one of these. The file groups that any of these names are kept, so that a
  multiple of the right number loses no row. Where each partition has its own, none is stated.

All slices are kept of a partition whose ids or keys contradict the stated number, or of which too
few keys are known. Keys are known by `column_stats`; where it has none, by a few files' footers.

Hudi's releases take the texts of a key in different ways. Those that the keys of a partition allow
are all followed, each with its own proof:

====================  ==========================================================================
key                   texts
====================  ==========================================================================
``14``                the key
``id:14``             the value, or the key (ComplexKeyGenerator with one column)
``a:1,b:2``           the values of the hashed columns, in the stated order or in that of the key
====================  ==========================================================================

They differ more about values with a comma or a colon, empty texts and NULL, and types other than
texts and integers are spelled in several ways. Such values are not looked up. A text of another
column of the key may look like a column with its value (`,a:1`), so these have to be held to
values as well.

With consistent hashing a file group has a range of hashes (xxHash of the joined texts) from its
beginning on: to split or merge ranges, new ones are begun. The table has them in a file for each
change of each partition. A file group that any of these names is kept only if a hash is in its
range. All slices are kept of a partition with a file group that none of them names.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, arrow_array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundIsNull, BoundLiteral, Leaf
from pyhudi_expr.expr.domains import Bounds, Domain, Kind, domain_of
from pyhudi_expr.index.lookups import LookupEvidence
from pyhudi_expr.index.lookups.composite_index import held_values
from pyhudi_expr.index.lookups.key_predicates import KEY_COLUMN, StoredSpelling, key_spelling
from pyhudi_expr.index.lookups.value_places import lookup_values
from pyhudi_expr.index.planner import Answer, Question
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.tables.hudi_names import CONSISTENT_HASHING_DIR, HASHING_SUFFIX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import java_hashes
from pyhudi_expr.tables.parsing.budget import PROPERTIES_BYTES, check_size
from pyhudi_expr.tables.properties import BucketEngine, StatedBuckets
from pyhudi_expr.tables.schema import nested_type
from pyhudi_expr.tables.storage import Storage

_ID = "^[0-9]{8}-"
_DIGITS = 8
_OTHER_ID = -1
_MOST_NUMBERS = 16
"""Of more numbers that may be that of the buckets, too few keys are known."""
_FOOTERS, _MOST_FOOTERS = 4, 64
"""Base files of a partition, and of all partitions of a question, whose footers are read."""
#: What Hudi writes for a NULL and for the empty text.
_RESERVED = ("__null__", "__empty__")
_MAX_INT = 2**31 - 1
_WHOLE_RING = (_OTHER_ID, _MAX_INT)
_MOST_PARTITIONS = 64
"""Partitions of a question whose ranges are read."""


@dataclass(frozen=True)
class _Way:
    """How the texts that are hashed are taken: the columns in order, and what precedes a value."""

    columns: tuple[str, ...]
    prefix: str = ""

    def hashes(self, values: Mapping[str, AnyArray]) -> Int64Array:
        """Return Java's hash of the list, without its sign, for N rows of values (large_string)."""
        hashed = np.ones(1, np.uint32)
        for texts in self._texts(values):
            own = java_hashes(ByteStrings.from_arrow(texts.cast(pa.large_binary())))
            hashed = hashed * np.uint32(31) + own
        return hashed.astype(np.int64) & _MAX_INT

    def places(self, values: Mapping[str, AnyArray]) -> Int64Array:
        """Return the hashes on the ring of consistent hashing for N rows of values."""
        rows = zip(*(texts.to_pylist() for texts in self._texts(values)), strict=True)
        hashed = [xxhash.xxh32_intdigest("".join(row).encode()) for row in rows]
        return np.array(hashed, np.int64) & _MAX_INT

    def _texts(self, values: Mapping[str, AnyArray]) -> Iterator[AnyArray]:
        for column in self.columns:
            texts = values[column]
            before, between = (pa.scalar(text, texts.type) for text in (self.prefix, ""))
            yield pc.binary_join_element_wise(before, texts, between)


@dataclass(frozen=True)
class _Form:
    """A form of record keys: a pattern (RE2) with a group for each key column, and its ways."""

    pattern: str
    ways: tuple[_Way, ...]


def _forms(spelling: StoredSpelling, hashed: tuple[str, ...]) -> tuple[_Form, ...]:
    key = spelling.fields
    if len(key) > 1:
        in_order = _Way(tuple(column for column in key if column in hashed))
        names = [f"{column}:" for column in key]
        return (_Form(_pattern(names), tuple(dict.fromkeys((_Way(hashed), in_order)))),)
    plain, name = _Form(_pattern([""]), (_Way(hashed),)), f"{key[0]}:"
    named = _Form(_pattern([name]), (_Way(hashed), _Way(hashed, name)))
    return (plain, named) if spelling.may_name_field else (plain,)


def _pattern(names: Sequence[str]) -> str:
    parts = [rf"\Q{name}\E(?P<c{n}>[^,:]+)" for n, name in enumerate(names)]
    return f"^{','.join(parts)}$"


@lru_cache(4096)
def _numbers(divisor: int, most: int) -> tuple[int, ...]:
    """Return the divisors of a number that are greater than the greatest number of a file group."""
    small = np.arange(1, isqrt(divisor) + 1)
    small = small[divisor % small == 0]
    found = np.union1d(small, divisor // small)
    return tuple(found[found > most].tolist())


_Named = tuple[tuple[_Way, int], ...]
"""Numbers of buckets, each with a way of hashing: file groups that one of them names are kept."""

_UNPROVED, _CONTRADICTED = "unproved", "contradicted"


class KnownKeys:
    """What the known keys of partitions say of their number of buckets. Thread safe.

    For each partition: the greatest number of a file group; for each form of keys whether one is
    known; and for each way of hashing the greatest common divisor, 0 where nothing is known.
    """

    def __init__(
        self,
        storage: Storage,
        listing: FileListing,
        stats: ColumnStats | None,
        forms: Sequence[_Form],
        key: Sequence[str],
    ) -> None:
        self._storage = storage
        self._listing = listing
        self._stats = stats
        self._forms = forms
        self._key = key
        self._ways = [way for form in self._forms for way in form.ways]
        count = len(listing.partitions)
        self._has_form = np.zeros((len(self._forms), count), np.int64)
        self._divisors = np.zeros((len(self._ways), count), np.int64)
        self._is_read = np.zeros(count, np.bool_)
        self._lock = threading.Lock()

    @computed_once
    def number_of_slice(self) -> Int64Array:
        """For each slice the number that its file id begins with; -1 if there is none."""
        ids = self._listing.slice_file_id
        found = np.full(len(ids), _OTHER_ID, np.int64)
        flags = pc.match_substring_regex(ids, _ID).to_numpy(zero_copy_only=False)
        digits = pc.utf8_slice_codeunits(ids.filter(pa.array(flags)), 0, _DIGITS)
        found[flags] = digits.cast(pa.int64()).to_numpy()
        return found

    @computed_once
    def _greatest(self) -> Int64Array:
        greatest = np.full(len(self._listing.partitions), _OTHER_ID, np.int64)
        np.maximum.at(greatest, self._listing.slice_partition, self.number_of_slice)
        greatest[self._listing.slice_partition[self.number_of_slice == _OTHER_ID]] = _OTHER_ID
        return greatest

    def of_partitions(
        self, stated: int | None, partitions: BoolArray, footer_wait: float
    ) -> list[tuple[_Named | str, Int64Array]]:
        """Return the flagged partitions by what is known of their number of buckets.

        Raises:
            HudiError: The statistics cannot be read.
        """
        chosen = np.flatnonzero(partitions)
        with self._lock:
            self._read(partitions & ~self._is_read & (self._greatest != _OTHER_ID), footer_wait)
            known = np.vstack([self._greatest[None], self._has_form, self._divisors])[:, chosen]
        rows, group = np.unique(known, axis=1, return_inverse=True)
        return [
            (self._named(stated, row.tolist()), chosen[group.reshape(-1) == n])
            for n, row in enumerate(rows.T)
        ]

    def _named(self, stated: int | None, known: Sequence[int]) -> _Named | str:
        greatest, rest = known[0], iter(known[1 + len(self._forms) :])
        if greatest == _OTHER_ID or (stated is not None and greatest >= stated):
            return _CONTRADICTED
        found: list[tuple[_Way, int]] = []
        unseen: list[_Way] = []
        for form, is_known in zip(self._forms, known[1:], strict=False):
            divisors = list(itertools.islice(rest, len(form.ways)))
            if not is_known:
                unseen += form.ways
                continue
            if 0 in divisors:
                return _UNPROVED
            numbers = [_numbers(divisor, greatest) for divisor in divisors]
            possible = [of_way for of_way in numbers if of_way]
            if not possible or any(stated not in of_way for of_way in possible if stated):
                return _CONTRADICTED
            if max(map(len, possible)) > _MOST_NUMBERS:
                return _UNPROVED
            found += [
                (way, number)
                for way, of_way in zip(form.ways, numbers, strict=True)
                for number in of_way
            ]
        # Keys of another form may lie between those that are known.
        also = itertools.product(unseen, {number for _, number in found})
        return (*found, *also) if found else _UNPROVED

    def _read(self, partitions: BoolArray, footer_wait: float) -> None:
        """Read the keys of partitions, which were not read before."""
        if not partitions.any():
            return
        is_read = True
        if self._stats is not None:
            found = self._stats.load([KEY_COLUMN], partitions, footer_wait)
            bounds = found.bounds(KEY_COLUMN)
            if bounds is not None:
                files = np.flatnonzero(partitions[self._listing.file_partition])
                rows = arrow_array(files)
                self._add(files, Bounds(bounds.lower.take(rows), bounds.upper.take(rows)))
            is_read = not found.notes  # of footers that are being read
        self._read_footers(partitions & ~self._has_form.any(axis=0))
        if is_read:
            self._is_read |= partitions

    def _read_footers(self, partitions: BoolArray) -> None:
        # Imported on use: few questions read footers, and the import takes time.
        from pyhudi_expr.index.statistics.parquet_footers import read_bounds

        listing = self._listing
        files = np.flatnonzero(partitions[listing.file_partition] & ~listing.file_is_log)
        _, firsts, counts = np.unique(
            listing.file_partition[files], return_index=True, return_counts=True
        )
        place = np.arange(len(files)) - np.repeat(firsts, counts)
        files = files[place < _FOOTERS]
        if len(files) <= _MOST_FOOTERS:
            paths = listing.paths(files)
            [bounds] = read_bounds(self._storage, paths, [KEY_COLUMN])
            self._add(files, bounds)

    def _add(self, files: Int64Array, bounds: Bounds) -> None:
        """Add the least and the greatest keys of files."""
        for ends in (bounds.lower, bounds.upper):
            options = pc.CastOptions(pa.large_string(), allow_invalid_utf8=True)
            keys = pc.cast(ends, options=options)
            # A bound beyond ASCII may have been moved, and be no key.
            known = pc.fill_null(pc.string_is_ascii(keys), False).to_numpy(zero_copy_only=False)
            self._add_keys(files[known], keys.filter(pa.array(known)))

    def _add_keys(self, files: Int64Array, keys: AnyArray) -> None:
        slices = self._listing.file_slice[files]
        partitions, numbers = self._listing.slice_partition[slices], self.number_of_slice[slices]
        ways = iter(enumerate(self._ways))
        for form, has_form in zip(self._forms, self._has_form, strict=True):
            parsed = pc.extract_regex(keys, form.pattern)
            is_form: BoolArray = parsed.is_valid().to_numpy(zero_copy_only=False)
            parts = parsed.flatten()
            for part in parts:
                reserved = pc.is_in(part, pa.array(_RESERVED, part.type))
                is_form &= ~reserved.to_numpy(zero_copy_only=False)
            rows = pa.array(is_form)
            values = {
                column: part.filter(rows) for column, part in zip(self._key, parts, strict=True)
            }
            has_form[partitions[is_form]] = 1
            for number, way in itertools.islice(ways, len(form.ways)):
                found = np.abs(way.hashes(values) - numbers[is_form])
                np.gcd.at(self._divisors[number], partitions[is_form], found)


class Buckets(Protocol):
    """What is known of the buckets of a table's partitions."""

    def known(self, question: Question) -> KnownBuckets:
        """Return what is known of the partitions of a question.

        Raises:
            HudiError: What it is read from cannot be read.
        """


class KnownBuckets(Protocol):
    """What is known of the buckets of some partitions."""

    def slices(self, values: Mapping[str, AnyArray]) -> BoolArray:
        """Flag the slices that can hold one of N rows of values (large_string) by column."""

    def notes(self) -> tuple[str, ...]:
        """Return why partitions are kept whole."""


@dataclass(frozen=True)
class NumberedBuckets:
    """The buckets of a simple index (`Buckets`).

    Attributes:
        number: Their stated number; None: each partition may have another.
        listing: The files.
        keys: What is known of the record keys.
    """

    number: int | None
    listing: FileListing
    keys: KnownKeys

    def known(self, question: Question) -> KnownBuckets:
        """See `Buckets`."""
        found = self.keys.of_partitions(self.number, question.partitions, question.footer_wait)
        return _KnownNumbers(self.number, self.listing, self.keys.number_of_slice, found)


@dataclass(frozen=True)
class _KnownNumbers:
    """The numbers of buckets of some partitions (`KnownBuckets`)."""

    number: int | None
    listing: FileListing
    number_of_slice: Int64Array
    found: Sequence[tuple[_Named | str, Int64Array]]

    def slices(self, values: Mapping[str, AnyArray]) -> BoolArray:
        kept = np.ones(self.listing.num_slices, np.bool_)
        for named, partitions in self.found:
            if isinstance(named, str):
                continue
            flags = np.zeros(len(self.listing.partitions), np.bool_)
            flags[partitions] = True
            slices = np.flatnonzero(flags[self.listing.slice_partition])
            buckets = [way.hashes(values) % number for way, number in named]
            kept[slices] = np.isin(self.number_of_slice[slices], np.concatenate(buckets))
        return kept

    def notes(self) -> tuple[str, ...]:
        counts = {_UNPROVED: 0, _CONTRADICTED: 0}
        for named, partitions in self.found:
            if isinstance(named, str):
                counts[named] += len(partitions)
        buckets = "buckets" if self.number is None else f"{self.number} buckets"
        reasons = {
            _UNPROVED: f"too few record keys are known to prove that there are {buckets}",
            _CONTRADICTED: f"file ids or record keys contradict {buckets}",
        }
        return tuple(
            f"{reasons[why]}: partitions that are kept whole: {count}"
            for why, count in counts.items()
            if count
        )


class HashRanges:
    """The ranges of hashes of file groups with consistent hashing (`Buckets`). Thread safe."""

    def __init__(self, storage: Storage, listing: FileListing, ways: Sequence[_Way]) -> None:
        self._storage = storage
        self._listing = listing
        self._ways = ways
        self._is_read = np.zeros(len(listing.partitions), np.bool_)
        self._is_named = np.zeros(len(listing.partitions), np.bool_)
        self._lower = np.full(listing.num_slices, _WHOLE_RING[0], np.int64)
        self._upper = np.full(listing.num_slices, _WHOLE_RING[1], np.int64)
        self._lock = threading.Lock()

    def known(self, question: Question) -> KnownBuckets:
        """See `Buckets`. A question reads the metadata of some partitions, the next one of more."""
        with self._lock:
            new = np.flatnonzero(question.partitions & ~self._is_read)[:_MOST_PARTITIONS].tolist()
            for partition, ranges in zip(new, self._storage.at_once(self._read, new), strict=True):
                self._add(partition, ranges)
        unknown = int((question.partitions & ~self._is_named).sum())
        return _KnownRanges(self._ways, self._lower, self._upper, unknown)

    def _add(self, partition: int, ranges: Mapping[str, tuple[int, int]]) -> None:
        slices = np.flatnonzero(self._listing.slice_partition == partition)
        ids: list[Any] = self._listing.slice_file_id.take(arrow_array(slices)).to_pylist()
        self._is_read[partition] = True
        self._is_named[partition] = ranges.keys() >= set(ids)
        if self._is_named[partition]:
            self._lower[slices] = [ranges[file_id][0] for file_id in ids]
            self._upper[slices] = [ranges[file_id][1] for file_id in ids]

    def _read(self, partition: int) -> Mapping[str, tuple[int, int]]:
        """Return the range of each file group, in any state of a partition."""
        path = self._listing.partitions[partition]
        directory = f"{CONSISTENT_HASHING_DIR}/{path}" if path else CONSISTENT_HASHING_DIR
        found: dict[str, tuple[int, int]] = {}
        for name in self._storage.names(directory):
            if name.endswith(HASHING_SUFFIX):
                content = self._storage.read(f"{directory}/{name}")
                for file_id, range_ in _ranges(content).items():
                    is_new = found.setdefault(file_id, range_) == range_
                    found[file_id] = range_ if is_new else _WHOLE_RING
        return found


def _ranges(content: bytes) -> Mapping[str, tuple[int, int]]:
    """Return the file ids of hashing metadata with their ranges; none if it is damaged."""
    try:
        check_size(HASHING_SUFFIX, len(content), PROPERTIES_BYTES)
        found: list[Any] = json.loads(content)["nodes"]
        nodes = sorted((int(node["value"]), str(node["fileIdPrefix"])) for node in found)
    except (HudiError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    ends = [_OTHER_ID, *(value for value, _ in nodes)]
    ranges = {
        f"{prefix}-0": (before, value) for before, (value, prefix) in zip(ends, nodes, strict=False)
    }
    if nodes and nodes[-1][0] != _MAX_INT:  # the first one has the end of the ring, too
        ranges[f"{nodes[0][1]}-0"] = _WHOLE_RING
    return ranges


@dataclass(frozen=True)
class _KnownRanges:
    """The range of each slice, without `lower` and with `upper` (`KnownBuckets`)."""

    ways: Sequence[_Way]
    lower: Int64Array
    upper: Int64Array
    unknown: int

    def slices(self, values: Mapping[str, AnyArray]) -> BoolArray:
        places = np.unique(np.concatenate([way.places(values) for way in self.ways]))
        # Whether a place lies between: as many are at or below the lower end as the upper one.
        return np.searchsorted(places, self.lower, "right") != np.searchsorted(
            places, self.upper, "right"
        )

    def notes(self) -> tuple[str, ...]:
        if not self.unknown:
            return ()
        return (
            "the metadata of consistent hashing does not name all file groups: partitions that are "
            f"kept whole: {self.unknown}",
        )


@dataclass(frozen=True)
class BucketSource:
    """Evidence about the hashed columns of a table with buckets.

    Attributes:
        hashed: The hashed columns, in the stated order.
        held: These, and other columns of the key that have to be held to values, too.
        listing: The files.
        buckets: What is known of the buckets.
    """

    hashed: tuple[str, ...]
    held: tuple[str, ...]
    listing: FileListing
    buckets: Buckets
    name: str = "buckets"

    def answer(self, question: Question) -> Answer | None:
        """Return the slices of the buckets that can hold the values, see `Source`."""
        if not question.reading.disputed.keys().isdisjoint(self.held):
            return None  # keys are made from the values that files hold
        wanted = [
            (leaf, values)
            for leaf, values in held_values(question.predicate, self.held, _values_of)
            if len(values) == len(self.held)
        ]
        if not wanted:
            return None
        known = self.buckets.known(question)
        evidence = LookupEvidence(self.listing)
        for leaf, values in wanted:
            rows = list(itertools.product(*values[: len(self.hashed)]))
            evidence.add(
                leaf,
                known.slices(
                    {
                        column: pa.array([row[n] for row in rows], pa.large_binary()).cast(
                            pa.large_string()
                        )
                        for n, column in enumerate(self.hashed)
                    }
                ),
            )
        return Answer(evidence, known.notes())


def bucket_source(
    stated: StatedBuckets,
    table: HudiTable,
    listing: FileListing,
    schema: pa.Schema,
    stats: ColumnStats | None,
) -> BucketSource | None:
    """Return the evidence of a table's buckets; None if keys are not written in a known way.

    Args:
        stated: What is stated of the table.
        table: The table.
        listing: Its files.
        schema: Its columns.
        stats: The bounds of record keys. None: footers are read.
    """
    spelling = key_spelling(table.properties)
    hashed = stated.columns or table.properties.record_key_fields
    if spelling is None or not set(hashed) <= set(spelling.fields):
        return None
    others = [column for column in spelling.fields if column not in hashed]
    texts = [column for column in others if not _is_without_names(schema, column)]
    forms, held = _forms(spelling, hashed), (*hashed, *texts)
    if stated.engine is BucketEngine.SIMPLE:
        keys = KnownKeys(table.storage, listing, stats, forms, spelling.fields)
        numbered = NumberedBuckets(stated.number, listing, keys)
        return BucketSource(hashed, held, listing, numbered)
    if not stated.columns and len(hashed) > 1:
        return None  # no key proves which of them are hashed
    ways = tuple(dict.fromkeys(way for form in forms for way in form.ways))
    return BucketSource(hashed, held, listing, HashRanges(table.storage, listing, ways))


def _is_without_names(schema: pa.Schema, column: str) -> bool:
    """Return whether no value is a text, which may look like another column with its value."""
    type_ = nested_type(schema, column)
    domain = None if type_ is None else domain_of(type_)
    return domain is not None and domain.kind not in (Kind.TEXT, Kind.BINARY)


def _values_of(leaf: Leaf, column: str) -> Sequence[bytes] | None:
    if isinstance(leaf, BoundIsNull):
        return None
    found = lookup_values(leaf, column, _text)
    return None if found is None else found[1]


def _text(literal: BoundLiteral, domain: Domain) -> bytes | None:
    """Return a value as all releases hash it; None if they differ."""
    if domain.kind is Kind.INTEGER:
        return str(literal.lower).encode()
    if domain.kind is not Kind.TEXT:
        return None
    try:
        text = bytes(literal.lower).decode()
    except UnicodeDecodeError:
        return None
    is_plain = text and text not in _RESERVED and "," not in text and ":" not in text
    return text.encode() if is_plain else None
