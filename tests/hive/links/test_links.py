"""One jar of the storage handler fits Hive 4.0, 4.1 and 4.2, and Hudi 1.2.0 and 1.2.1.

Its links and hooks are resolved in their jars, without a server.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from devtools.runtime import HANDLER_JAR, HIVE_LIB, HUDI_AUX, WORK, java

pytestmark = pytest.mark.hive

_MAIN = Path(__file__).with_name("HiveLinks.java")
_LINKS = WORK / "links"
_HADOOP_3_3 = ("hadoop-common-*.jar", "hadoop-mapreduce-client-core-*.jar")
LATER = ("4.1.0", "4.2.0")
_FILE_GUARD = "io/pyhudi/hive/metastore/HudiFileGuard"


@dataclass(frozen=True)
class Links:
    """What `HiveLinks.java` finds: broken links, hooks that the handler answers, and others."""

    broken: frozenset[str]
    overrides: frozenset[str]
    offers: frozenset[str]


def links(jars: Iterable[Path]) -> Links:
    asm = sorted((_LINKS / "asm").glob("*.jar"))
    assert asm, "run `make links`"
    command = [str(java()), "-cp", os.pathsep.join(map(str, asm)), str(_MAIN)]
    command += map(str, (HANDLER_JAR, *jars))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, set[str]] = {"broken": set(), "overrides": set(), "offers": set()}
    for line in done.stdout.splitlines():
        kind, text = line.split("\t")
        found[kind].add(text)
    return Links(**{kind: frozenset(texts) for kind, texts in found.items()})


def hive_jars(version: str) -> list[Path]:
    if version == "4.0.1":
        names = (f"hive-exec-{version}.jar", *_HADOOP_3_3)
        return [jar for name in names for jar in HIVE_LIB.glob(name)]
    return [_LINKS / "hive" / f"hive-exec-{version}.jar", *(_LINKS / "hadoop").glob("*.jar")]


def is_unused(link: str, version: str) -> bool:
    """Whether a link or hook is one of the class for a setting that Hive 4.2 lacks."""
    return version == "4.2.0" and link.startswith(f"{_FILE_GUARD} ")


@cache
def links_of(version: str) -> Links:
    return links([*hive_jars(version), *HUDI_AUX.glob("*.jar")])


@pytest.mark.parametrize("version", ["4.0.1", *LATER])
def test_every_link_to_hive_and_hudi_resolves(version: str) -> None:
    found = links_of(version)
    assert {link for link in found.broken if not is_unused(link, version)} == set()
    assert len(found.overrides) > 50


@pytest.mark.smoke
def test_every_link_to_hudi_1_2_1_resolves() -> None:
    hudi = [*(_LINKS / "hudi").glob("*-1.2.1.jar"), *HUDI_AUX.glob("kryo-*.jar")]
    assert links([*hive_jars("4.0.1"), *hudi]).broken == frozenset()


def test_missing_classes_are_found() -> None:
    broken = links([*(_LINKS / "hadoop").glob("*.jar"), *HUDI_AUX.glob("*.jar")]).broken
    ours = "io/pyhudi/hive/ReadingStorageHandler"
    assert f"{ours} extends org/apache/hadoop/hive/ql/metadata/DefaultStorageHandler" in broken


@pytest.mark.parametrize("version", LATER)
def test_no_hook_that_the_handler_answers_has_gone(version: str) -> None:
    gone = {
        hook
        for hook in links_of("4.0.1").overrides - links_of(version).overrides
        if not is_unused(hook, version)
    }
    # `supportsPartitioning` replaces it.
    assert gone == {"io/pyhudi/hive/HudiStorageHandler alwaysUnpartitioned()Z"}


_TABLE, _PARTISH, _LIST = (
    "Lorg/apache/hadoop/hive/ql/metadata/Table;",
    "Lorg/apache/hadoop/hive/ql/stats/Partish;",
    "Ljava/util/List;",
)
SINCE_4_1 = {
    "supportsPartitioning()Z",
    f"canComputeQueryUsingStats({_PARTISH})Z",
    f"computeBasicStatistics({_PARTISH})Ljava/util/Map;",
}
ANSWERED = {
    "4.1.0": SINCE_4_1,
    "4.2.0": {*SINCE_4_1, f"getColStatistics({_TABLE}{_LIST}){_LIST}"},
}


@pytest.mark.parametrize("version", LATER)
def test_hooks_that_were_added_are_answered(version: str) -> None:
    added = links_of(version).overrides - links_of("4.0.1").overrides
    assert added == {f"io/pyhudi/hive/HudiStorageHandler {hook}" for hook in ANSWERED[version]}


LEFT_TO_HIVE = {
    # Partitions of the metastore: a table of the handler has none.
    *("isPartitioned", "getPartition", "getPartitions", "getPartitionNames", "getPartitionsByExpr"),
    *("canProvidePartitionStatistics", "getAggrColStatsFor", "getPartitionTransformSpecs"),
    *("hasUndergonePartitionEvolution", "supportsPartitionAwareOptimization", "validatePartSpec"),
    *("createPartitionAwareOptimizationContext", "preDropPartitions"),
    # What has happened to partitions; the metastore still announces each of them before.
    "onAlterPartitions",
    # Writes and compaction: the tables are read-only.
    *("getMergeTaskInputFiles", "getMergeTaskProperties", "setMergeTaskDeleteProperties"),
    *("supportsMergeFiles", "getOutputCommitter", "storageHandlerCommit"),
    *("supportsDefaultColumnValues", "hasDataMatchingFilterExpr"),
    # Snapshots, for caches of results and materialised views.
    *("getSnapshotContexts", "validateCurrentSnapshot"),
}
"""Methods that Hive has added, and that keep Hive's own answer: a decision about each."""


@pytest.mark.parametrize("version", LATER)
def test_other_hooks_that_were_added_have_been_considered(version: str) -> None:
    added = links_of(version).offers - links_of("4.0.1").offers
    hooks = {
        member.partition("(")[0]
        for owner, member in (text.split(" ") for text in added)
        if owner.startswith("org/apache/hadoop/hive/")
    }
    assert hooks - LEFT_TO_HIVE == set()
