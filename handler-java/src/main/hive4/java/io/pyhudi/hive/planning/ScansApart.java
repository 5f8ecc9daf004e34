package io.pyhudi.hive.planning;

import org.apache.hadoop.hive.ql.metadata.Hive;

/**
 * Keeps scans of one table apart that a query restricts by the keys of different joins.
 *
 * <p>Tez's shared work makes one scan of several. If these are restricted by equal keys of the same
 * columns ({@code SharedWorkOptimizer.areMergeableExtendedCheck} compares what the keys come from),
 * the one is restricted by these, and each of its consumers has its rows. But it also makes one of
 * scans with different keys ({@code areMergeableDppUnion}), and {@code DynamicPartitionPruner} then
 * demands a key of each column: a row that one of them needs has a key of its own columns only.
 * That is switched off in the query's own configuration, so each of these scans remains, with its
 * own keys.
 */
public final class ScansApart {
  private static final String UNITES_KEYS = "hive.optimize.shared.work.dppunion.merge.eventops";

  private ScansApart() {}

  /**
   * Keeps the scans apart of the query that the current thread compiles. Returns whether that was
   * possible.
   */
  public static boolean keep() {
    Hive hive = Hive.getThreadLocal();
    if (hive == null) {
      return false;
    }
    hive.getConf().setBoolean(UNITES_KEYS, false);
    return true;
  }
}
