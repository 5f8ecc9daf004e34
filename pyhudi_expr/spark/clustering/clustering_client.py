"""Apache Hudi's own write client, as far as clustering goes, driven from Python.

Only the driver's JVM is called (py4j); the executors run Hudi's reader and writer, as in Hudi's own
clustering. What Hudi's `SparkExecuteClusteringCommitActionExecutor` does in one go is taken apart
here, since between reading and writing the rows get an order that Hudi does not know. Three of its
steps are not public, and are called by reflection: written for Hudi 1.2, refused where they lack.

A plan names its layout and the process that carries it out in its strategy's parameters, so that
what a killed run left is distinct from the plans of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.manage.layout.selection import Group
from pyhudi_expr.spark.clustering.clustering_commit import CLUSTERING, Clustering, input_groups
from pyhudi_expr.spark.clustering.write_client import (
    ClusteringFailed,
    PendingPlan,
    SliceFiles,
    WriteClient,
)
from pyhudi_expr.spark.jobs.job_errors import JavaObject, to_list
from pyhudi_expr.tables.process_owner import HOST, PROCESS, is_gone, this_process

_STRATEGY = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
_PLAN_VERSION = 1


class ClusteringClient:
    """Plans clusterings of one table, in the state that was read when its client was opened.

    Every method raises ClusteringFailed.
    """

    def __init__(self, writer: WriteClient) -> None:
        """Take the write client of the table; `close` closes it."""
        self._writer = writer

    @staticmethod
    def open(spark: SparkSession, base_path: str, options: Mapping[str, str]) -> ClusteringClient:
        """Open a table with a write client of these options."""
        return ClusteringClient(WriteClient.open(spark, base_path, options))

    def close(self) -> None:
        """Stop what the client keeps running."""
        self._writer.close()

    def busy_groups(self) -> frozenset[Group]:
        """Return the file groups of pending compactions and clusterings."""
        with self._writer.translated("its pending table services cannot be read"):
            view = self._writer.table().getHoodieView()
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
                    f"{self._writer.base_path}: process {owner.get(PROCESS)} on {owner.get(HOST)} "
                    f"rewrites the table at present, at {plan.instant}; if it is gone, roll that "
                    "instant back"
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
        with self._writer.translated("its pending clusterings cannot be read"):
            meta_client = self._writer.table().getMetaClient()
            utils = self._writer.hudi.common.util.ClusteringUtils
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
        with (
            self._writer.translated("the clustering cannot be planned"),
            self._writer.exclusively(),
        ):
            if self.busy_groups() & {(one.partition, one.file_id) for one in slices}:
                raise ClusteringFailed(
                    f"{self._writer.base_path}: a compaction or clustering of the chosen file "
                    "groups was planned meanwhile; try again when it is done"
                )
            instant = self._writer.services.createNewInstantTime(False)
            model = self._writer.hudi.avro.model
            strategy = (
                model.HoodieClusteringStrategy.newBuilder()
                .setStrategyClassName(_STRATEGY)
                .setStrategyParams({**parameters, **this_process()})
                .build()
            )
            plan = (
                model.HoodieClusteringPlan.newBuilder()
                .setStrategy(strategy)
                .setInputGroups(input_groups(self._writer, slices, files))
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
            table = self._writer.table()
            table.getActiveTimeline().saveToPendingClusterCommit(
                self._new_instant(table, "REQUESTED", instant), requested
            )
            return str(instant)

    def _withdraw(self, plan: PendingPlan) -> None:
        with self._writer.translated(f"the clustering {plan.instant} cannot be taken back"):
            if plan.is_inflight:
                with self._writer.where_hudi_locks():
                    self._writer.java.purgePendingClustering(plan.instant)
                return
            with self._writer.exclusively():
                table = self._writer.table()
                requested = self._new_instant(table, "REQUESTED", plan.instant)
                table.getActiveTimeline().deletePending(requested)

    @contextmanager
    def running(self, instant: str) -> Iterator[Clustering]:
        """Start a planned clustering, in a `with` block."""
        with self._writer.translated(f"the clustering {instant} cannot begin"):
            table = self._writer.table()
            self._writer.java.preWrite(
                instant,
                self._writer.hudi.common.model.WriteOperationType.CLUSTER,
                table.getMetaClient(),
            )
            utils = self._writer.hudi.common.util.ClusteringUtils
            requested = utils.getRequestedClusteringInstant(
                instant, table.getActiveTimeline(), table.getMetaClient().getInstantGenerator()
            ).get()
            plan = utils.getClusteringPlan(table.getMetaClient(), requested).get().getRight()
            utils.transitionClusteringOrReplaceRequestedToInflight(
                requested, self._writer.none(), table.getActiveTimeline()
            )
            table.getMetaClient().reloadActiveTimeline()
        yield Clustering(self._writer, table, plan, instant)

    def frame(self, slices: Sequence[SliceFiles], instant: str) -> DataFrame:
        """Return the rows of slices as of an instant, meta columns first, merged by Hudi's reader.

        Nothing is planned or written, and nothing is read yet.
        """
        with self._writer.translated("the slices cannot be read"):
            by_partition = input_groups(self._writer, slices, {one.partition: 1 for one in slices})
            group = (
                self._writer.hudi.avro.model.HoodieClusteringGroup.newBuilder()
                .setSlices([info for group in by_partition for info in to_list(group.getSlices())])
                .setNumOutputFileGroups(1)
                .setMetrics({})
                .build()
            )
            return Clustering(self._writer, self._writer.table(), None, instant).frame(group)

    def _new_instant(self, table: JavaObject, state: str, instant: str) -> JavaObject:
        """Return the pending clustering, by its name in the timeline's layout."""
        states = getattr(
            self._writer.jvm, "org.apache.hudi.common.table.timeline.HoodieInstant$State"
        )
        versions = self._writer.hudi.common.table.timeline.versioning.TimelineLayoutVersion
        layout = table.getMetaClient().getTimelineLayoutVersion()
        action = CLUSTERING if layout.equals(versions.LAYOUT_VERSION_2) else "replacecommit"
        return table.getInstantGenerator().createNewInstant(states.valueOf(state), action, instant)
