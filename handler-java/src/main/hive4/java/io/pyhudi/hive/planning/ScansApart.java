package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.ReadingStorageHandler;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.predicate.DynamicPruning;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;

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

  /** The least bytes of a task, with Tez's default: what is smaller, one task reads. */
  private static final String TASK_BYTES = "tez.grouping.min-size";

  private static final long DEFAULT_TASK_BYTES = 50L << 20;

  /** As many keys without a condition are spread over most files of the other table. */
  private static final long MANY_KEYS = 10_000;

  private ScansApart() {}

  /**
   * Returns whether the scans of a table are worth to be kept apart for the keys of a condition.
   * They are not for a table that one task reads, as this also keeps parts of the query from being
   * computed once for all that need them; nor for every key of a large table, of which no files are
   * excluded.
   *
   * @param table the scanned one
   * @param condition that {@link DynamicPruning#mayRestrict} accepts
   */
  public static boolean areWorthwhile(Configuration conf, Table table, ExprNodeDesc condition) {
    TableRows scanned = counted(conf, table);
    if (scanned.bytes() > 0 && scanned.bytes() < conf.getLong(TASK_BYTES, DEFAULT_TASK_BYTES)) {
      return false;
    }
    Table keys = DynamicPruning.wholeTableOf(condition);
    if (keys == null || !(keys.getStorageHandler() instanceof ReadingStorageHandler)) {
      return true;
    }
    TableRows known = counted(conf, keys);
    return !known.isKnown() || known.rows() < MANY_KEYS;
  }

  private static TableRows counted(Configuration conf, Table table) {
    return MetadataView.of(table.getPath()) == null
        ? TableRows.of(conf, table.getPath(), PruningSettings.ofTable(table.getMetadata()))
        : TableRows.unknown();
  }

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
