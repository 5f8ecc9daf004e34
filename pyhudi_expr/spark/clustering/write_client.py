"""Hudi's write client in the driver's JVM: locks, failures, and what a clustering rewrites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.jobs.job_errors import (
    JavaObject,
    NoSuchMemberError,
    causes,
    jvm,
    missing_module,
    private_field,
)
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.slices.slice_files import FileSlice, file_slices
from pyhudi_expr.tables.storage import Storage


class ClusteringFailed(HudiError):  # noqa: N818 - names the finding
    """Hudi refused or failed; the message says in which step, with Hudi's own words."""


@dataclass(frozen=True)
class SliceFiles:
    """A file slice to rewrite.

    Attributes:
        base: Path of the base file relative to the base path; "" if there is none.
        logs: Paths of the log files.
    """

    partition: str
    file_id: str
    base: str
    logs: tuple[str, ...]

    @staticmethod
    def of(one: FileSlice) -> SliceFiles:
        """Return a slice of a listing."""
        base = "" if one.base is None else one.path(one.base)
        return SliceFiles(one.partition, one.file_id, base, tuple(map(one.path, one.logs)))


def slice_files(listing: FileListing) -> Iterator[SliceFiles]:
    """Return the slices of a listing, largest first."""
    return map(SliceFiles.of, file_slices(listing))


@dataclass(frozen=True)
class PendingPlan:
    """A clustering that is planned or in progress.

    Attributes:
        parameters: The parameters of its strategy.
    """

    instant: str
    is_inflight: bool
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class WriteClient:
    """A write client for one table, in the state that was read when it was opened.

    Attributes:
        spark: The session.
        jvm: The driver's JVM.
        hudi: Its package `org.apache.hudi`.
        base_path: The table's.
        java: Hudi's `SparkRDDWriteClient`.
        config: Its `HoodieWriteConfig`.
        services: Its client of table services.
        storage: The table's files.
        lock: The lock of this program.
    """

    spark: SparkSession
    jvm: Any
    hudi: Any
    base_path: str
    java: JavaObject
    config: JavaObject
    services: JavaObject
    storage: Storage
    lock: TableLock

    @staticmethod
    def open(spark: SparkSession, base_path: str, options: Mapping[str, str]) -> WriteClient:
        """Make a write client with these options of Hudi's writer.

        Raises:
            ClusteringFailed: Hudi is not there, or is of another version, or refuses.
        """
        java_vm = jvm(spark)
        hudi = java_vm.org.apache.hudi
        with _translated(base_path, "the write client cannot be made"):
            if isinstance(hudi.HoodieCLIUtils, JavaPackage):
                raise ClusteringFailed(
                    f"{base_path}: Apache Hudi's bundle is not on the class path of Spark's driver;"
                    " clustering needs it (spark.jars or --packages)"
                )
            settings = java_vm.PythonUtils.toScalaMap(dict(options))
            none = java_vm.scala.Option.empty()
            java = hudi.HoodieCLIUtils.createHoodieWriteClient(
                spark._jsparkSession, base_path, settings, none
            )
            config = java.getConfig()
            services = private_field(java, "tableServiceClient")
        storage = Storage.open(base_path)
        lock = TableLock.of(storage)
        return WriteClient(spark, java_vm, hudi, base_path, java, config, services, storage, lock)

    def close(self) -> None:
        """Stop what the client keeps running."""
        self.java.close()

    def table(self) -> JavaObject:
        """Return the table as it is now."""
        return self.hudi.table.HoodieSparkTable.create(self.config, self.java.getEngineContext())

    def none(self) -> JavaObject:
        """Return Hudi's empty Option."""
        return self.hudi.common.util.Option.empty()

    def full_path(self, path: str) -> str:
        """Return the place of a file of the table."""
        return f"{self.base_path.rstrip('/')}/{path}"

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold the table's lock."""
        transactions = self.services.getTransactionManager()
        with self.where_hudi_locks():
            transactions.beginStateChange(self.none(), self.none())
            try:
                yield
            finally:
                transactions.endStateChange(self.none())

    @contextmanager
    def where_hudi_locks(self) -> Iterator[None]:
        """Hold this program's lock, unless the client's settings name one, which Hudi takes itself.

        The next process takes over a lock that a dead process left; Hudi would wait for it.
        """
        if self.config.isLockRequired():
            yield
        else:
            with self.lock.held("clustering"):
                yield

    def translated(self, failure: str) -> AbstractContextManager[None]:
        """Raise ClusteringFailed for exceptions of Hudi.

        Args:
            failure: What has failed then.
        """
        return _translated(self.base_path, failure)


@contextmanager
def _translated(base_path: str, failure: str) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        reason = missing_module(str(error)) or causes(error.java_exception)
        raise ClusteringFailed(f"{base_path}: {failure}: {reason}") from error
    except (Py4JError, NoSuchMemberError, TypeError) as error:
        raise ClusteringFailed(
            f"{base_path}: {failure}: this version of Apache Hudi has another interface "
            f"than 1.2: {error}"
        ) from error
