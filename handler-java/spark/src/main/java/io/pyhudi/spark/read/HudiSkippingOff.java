package io.pyhudi.spark.read;

import io.pyhudi.spark.service.PruningConf;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps Hudi's optimiser rule away from the relations that {@link PruneRelations} replaces.
 *
 * <p>Hudi's rule would list the table, and skip partitions by statistics that may be wrong, before
 * ours is called. It passes over a file index that says that predicates have been pushed down.
 */
public final class HudiSkippingOff extends Rule<LogicalPlan> {
  private static final Logger LOG = LoggerFactory.getLogger(HudiSkippingOff.class);

  private final SparkSession session;

  public HudiSkippingOff(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    try {
      if (PruningConf.of(session).enabled()) {
        for (LogicalPlan leaf : Scala.list(plan.collectLeaves())) {
          HudiRead.of(session, leaf)
              .filter(read -> !read.isIncremental())
              .ifPresent(read -> read.index().hasPushedDownPartitionPredicates_$eq(true));
        }
      }
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("Hudi's file index cannot be used, Hudi's own skipping remains", e);
    }
    return plan;
  }
}
