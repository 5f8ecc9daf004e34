"""Apache Hudi's own write client, as far as clustering goes, driven from Python.

Only the driver's JVM is called (py4j); the executors run Hudi's reader and writer, as in Hudi's own
clustering. What Hudi's `SparkExecuteClusteringCommitActionExecutor` does in one go is taken apart
here, since between reading and writing the rows get an order that Hudi does not know. Three of its
steps are not public, and are called by reflection: written for Hudi 1.2, refused where they lack.

A plan names its layout and the process that carries it out in its strategy's parameters, so that
what a killed run left can be told from the plans of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.layout.selection import Group
from pyhudi_expr.spark.clustering.clustering_commit import CLUSTERING, Clustering
from pyhudi_expr.spark.clustering.clustering_plan import ClusteringFailed, PendingPlan, SliceFiles
from pyhudi_expr.spark.jobs.java_calls import (
    JavaObject,
    NoSuchMemberError,
    causes,
    jvm,
    private_field,
    to_list,
)
from pyhudi_expr.spark.jobs.job_errors import missing_module
from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.process_owner import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.table.storage import Storage

_STRATEGY = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
_PLAN_VERSION = 1


class ClusteringClient:
    """A write client for one table, in the state that was read when it was opened.

    Every method raises ClusteringFailed.
    """

    def __init__(self, spark: SparkSession, base_path: str, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._jvm = jvm(spark)
        self._base_path = base_path
        self._hudi = self._jvm.org.apache.hudi
        with self._translated("the write client cannot be made"):
            if isinstance(self._hudi.HoodieCLIUtils, JavaPackage):
                raise ClusteringFailed(
                    f"{base_path}: Apache Hudi's bundle is not on the class path of Spark's driver;"
                    " clustering needs it (spark.jars or --packages)"
                )
            settings = self._jvm.PythonUtils.toScalaMap(dict(options))
            none = self._jvm.scala.Option.empty()
            self._client = self._hudi.HoodieCLIUtils.createHoodieWriteClient(
                spark._jsparkSession, base_path, settings, none
            )
            self._config = self._client.getConfig()
            self._services = private_field(self._client, "tableServiceClient")
        self._storage = Storage.open(base_path)
        self._lock = TableLock.of(self._storage)

    def close(self) -> None:
        """Stop what the client keeps running."""
        self._client.close()

    def busy_groups(self) -> frozenset[Group]:
        """Return the file groups of pending compactions and clusterings."""
        with self._translated("its pending table services cannot be read"):
            view = self._table().getHoodieView()
            view.sync()
            clustered = [pair.getKey() for pair in to_list(view.getFileGroupsInPendingClustering())]
            compacted = [
                pair.getValue().getFileGroupId()
                for pending in (
                    view.getPendingCompactionOperations(),
                    view.getPendingLogCompactionOperations(),
                )
                for pair in to_list(pending)
            ]
            return frozenset(
                (str(group.getPartitionPath()), str(group.getFileId()))
                for group in (*clustered, *compacted)
            )

    def take_back(self, mark: str) -> list[str]:
        """Withdraw the plans of dead runs with this parameter; return their instants.

        Raises:
            ClusteringFailed: One of the runs is active.
        """
        plans = [plan for plan in self.pending_plans() if mark in plan.parameters]
        for plan in plans:
            owner = plan.parameters
            if not is_gone(owner) and this_process().items() - owner.items():
                raise ClusteringFailed(
                    f"{self._base_path}: process {owner.get(PROCESS)} on {owner.get(HOST)} rewrites"
                    f" the table at present, at {plan.instant}; if it is gone, roll that instant "
                    "back"
                )
            self._withdraw(plan)
        return [plan.instant for plan in plans]

    def withdraw(self, instant: str) -> None:
        """Withdraw a clustering with all that it has written, unless it is complete."""
        for plan in self.pending_plans():
            if plan.instant == instant:
                self._withdraw(plan)

    def pending_plans(self) -> list[PendingPlan]:
        """Return the clusterings that are not complete."""
        with self._translated("its pending clusterings cannot be read"):
            meta_client = self._table().getMetaClient()
            utils = self._hudi.common.util.ClusteringUtils
            found = []
            for pair in to_list(utils.getAllPendingClusteringPlans(meta_client)):
                instant, strategy = pair.getLeft(), pair.getRight().getStrategy()
                parameters = dict((strategy and strategy.getStrategyParams()) or {})
                found.append(PendingPlan(instant.requestedTime(), instant.isInflight(), parameters))
            return found

    def plan(
        self,
        slices: Sequence[SliceFiles],
        files: Mapping[str, int],
        parameters: Mapping[str, str],
    ) -> str:
        """Announce that slices will be replaced: from now on Hudi's writers refuse to update them.

        Args:
            slices: The slices.
            files: The number of new files, by partition.
            parameters: Distinguish the plan from those of others.

        Returns:
            The instant of the clustering.
        """
        with self._translated("the clustering cannot be planned"), self._exclusively():
            if self.busy_groups() & {(one.partition, one.file_id) for one in slices}:
                raise ClusteringFailed(
                    f"{self._base_path}: a compaction or clustering of the chosen file groups was "
                    "planned meanwhile; try again when it is done"
                )
            instant = self._services.createNewInstantTime(False)
            model = self._hudi.avro.model
            strategy = (
                model.HoodieClusteringStrategy.newBuilder()
                .setStrategyClassName(_STRATEGY)
                .setStrategyParams({**parameters, **this_process()})
                .build()
            )
            plan = (
                model.HoodieClusteringPlan.newBuilder()
                .setStrategy(strategy)
                .setInputGroups(self._groups(slices, files))
                .setExtraMetadata({})
                .setVersion(_PLAN_VERSION)
                .setPreserveHoodieMetadata(True)
                .build()
            )
            requested = (
                model.HoodieRequestedReplaceMetadata.newBuilder()
                .setOperationType("CLUSTER")
                .setExtraMetadata({})
                .setClusteringPlan(plan)
                .build()
            )
            table = self._table()
            table.getActiveTimeline().saveToPendingClusterCommit(
                self._new_instant(table, "REQUESTED", instant), requested
            )
            return str(instant)

    def _withdraw(self, plan: PendingPlan) -> None:
        with self._translated(f"the clustering {plan.instant} cannot be taken back"):
            if plan.is_inflight:
                with self._where_hudi_locks():
                    self._client.purgePendingClustering(plan.instant)
                return
            with self._exclusively():
                table = self._table()
                requested = self._new_instant(table, "REQUESTED", plan.instant)
                table.getActiveTimeline().deletePending(requested)

    @contextmanager
    def running(self, instant: str) -> Iterator[Clustering]:
        """Start a planned clustering, in a `with` block."""
        with self._translated(f"the clustering {instant} cannot begin"):
            table = self._table()
            self._client.preWrite(
                instant, self._hudi.common.model.WriteOperationType.CLUSTER, table.getMetaClient()
            )
            utils = self._hudi.common.util.ClusteringUtils
            requested = utils.getRequestedClusteringInstant(
                instant, table.getActiveTimeline(), table.getMetaClient().getInstantGenerator()
            ).get()
            plan = utils.getClusteringPlan(table.getMetaClient(), requested).get().getRight()
            utils.transitionClusteringOrReplaceRequestedToInflight(
                requested, self._none(), table.getActiveTimeline()
            )
            table.getMetaClient().reloadActiveTimeline()
        yield Clustering(self, table, plan, instant)

    def frame(self, slices: Sequence[SliceFiles], instant: str) -> DataFrame:
        """Return the rows of slices as of an instant, meta columns first, merged by Hudi's reader.

        Nothing is planned or written, and nothing is read yet.
        """
        with self._translated("the slices cannot be read"):
            by_partition = self._groups(slices, {one.partition: 1 for one in slices})
            group = (
                self._hudi.avro.model.HoodieClusteringGroup.newBuilder()
                .setSlices([info for group in by_partition for info in to_list(group.getSlices())])
                .setNumOutputFileGroups(1)
                .setMetrics({})
                .build()
            )
            return Clustering(self, self._table(), None, instant).frame(group)

    def _groups(self, slices: Sequence[SliceFiles], files: Mapping[str, int]) -> list[Any]:
        """Return an input group for each partition, ascending."""
        model = self._hudi.avro.model
        infos: dict[str, list[Any]] = {}
        for one in slices:
            info = (
                model.HoodieSliceInfo.newBuilder()
                .setPartitionPath(one.partition)
                .setFileId(one.file_id)
                .setDataFilePath(self._full(one.base) if one.base else "")
                .setDeltaFilePaths([self._full(log) for log in one.logs])
                .setBootstrapFilePath("")
                .build()
            )
            infos.setdefault(one.partition, []).append(info)
        return [
            model.HoodieClusteringGroup.newBuilder()
            .setSlices(infos[partition])
            .setNumOutputFileGroups(files[partition])
            .setMetrics({})
            .build()
            for partition in sorted(infos)
        ]

    def _full(self, path: str) -> str:
        return f"{self._base_path.rstrip('/')}/{path}"

    def _table(self) -> JavaObject:
        """Return the table as it is now."""
        return self._hudi.table.HoodieSparkTable.create(
            self._config, self._client.getEngineContext()
        )

    def _new_instant(self, table: JavaObject, state: str, instant: str) -> JavaObject:
        """Return the pending clustering, by its name in the timeline's layout."""
        states = getattr(self._jvm, "org.apache.hudi.common.table.timeline.HoodieInstant$State")
        versions = self._hudi.common.table.timeline.versioning.TimelineLayoutVersion
        layout = table.getMetaClient().getTimelineLayoutVersion()
        action = CLUSTERING if layout.equals(versions.LAYOUT_VERSION_2) else "replacecommit"
        return table.getInstantGenerator().createNewInstant(states.valueOf(state), action, instant)

    def _none(self) -> JavaObject:
        return self._hudi.common.util.Option.empty()

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Hold the table's lock."""
        transactions = self._services.getTransactionManager()
        with self._where_hudi_locks():
            transactions.beginStateChange(self._none(), self._none())
            try:
                yield
            finally:
                transactions.endStateChange(self._none())

    @contextmanager
    def _where_hudi_locks(self) -> Iterator[None]:
        """Hold this program's lock, unless the client's settings name one, which Hudi takes itself.

        The next process takes over a lock that a dead process left; Hudi would wait for it.
        """
        if self._config.isLockRequired():
            yield
        else:
            with self._lock.held("clustering"):
                yield

    @contextmanager
    def _translated(self, failure: str) -> Iterator[None]:
        """Translate exceptions of Hudi."""
        try:
            yield
        except Py4JJavaError as error:
            reason = missing_module(str(error)) or causes(error.java_exception)
            raise ClusteringFailed(f"{self._base_path}: {failure}: {reason}") from error
        except (Py4JError, NoSuchMemberError, TypeError) as error:
            raise ClusteringFailed(
                f"{self._base_path}: {failure}: this version of Apache Hudi has another interface "
                f"than 1.2: {error}"
            ) from error
