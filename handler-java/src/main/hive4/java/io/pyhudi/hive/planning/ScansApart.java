package io.pyhudi.hive.planning;

import io.pyhudi.hive.predicate.DynamicPruning;
import org.apache.hadoop.hive.conf.HiveConf;
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
 * demands a key of each column: a row that one of them needs has a key of its own columns only. A
 * query that counts TPC-DS's catalog sales of one month, and those shipped in another one, finds
 * none of either then. That is switched off in the query's own configuration, so each of these
 * scans remains, with its own keys.
 */
public final class ScansApart {
  private static final String UNITES_KEYS = "hive.optimize.shared.work.dppunion.merge.eventops";

  /** Of the bytes of a query's largest table: a table with less is not kept apart. */
  private static final double LEAST_SHARE = 0.05;

  private ScansApart() {}

  /**
   * Keeps the scans apart of the query that the current thread compiles, if one of them is to be
   * restricted by a condition. Returns false if that is not possible, or not worthwhile: what Hive
   * computes once for all equal parts of a query, it then may compute several times.
   *
   * @param table the scanned one
   * @param condition that {@link DynamicPruning#mayRestrict} accepts
   */
  public static boolean keep(Table table, ExprNodeDesc condition) {
    Hive hive = Hive.getThreadLocal();
    if (hive == null
        || !DynamicPruning.areRepeatable(condition)
        || !isWorthwhile(table, condition, hive.getConf())) {
      return false;
    }
    hive.getConf().setBoolean(UNITES_KEYS, false);
    return true;
  }

  /** Where Hive seldom merges scans, any key is worthwhile. */
  private static boolean isWorthwhile(Table table, ExprNodeDesc condition, HiveConf conf) {
    return DynamicPruning.isBesideUnion(table, condition)
        || !isSmall(table, condition, conf) && !areAllKeys(table, condition, conf);
  }

  /** A table of unknown size is not small. */
  private static boolean isSmall(Table table, ExprNodeDesc condition, HiveConf conf) {
    long bytes = new QueriedTable(table, conf).rows().bytes();
    long largest =
        DynamicPruning.tablesOf(condition).stream()
            .mapToLong(scanned -> new QueriedTable(scanned, conf).rows().bytes())
            .max()
            .orElse(0);
    return bytes > 0 && bytes < largest * LEAST_SHARE;
  }

  /** Returns whether hardly any file of the table is without a key. */
  private static boolean areAllKeys(Table table, ExprNodeDesc condition, HiveConf conf) {
    KeyScan keys = KeyScan.of(condition);
    if (keys == null || !keys.isOfEveryRow()) {
      return false;
    }
    QueriedTable source = new QueriedTable(keys.table(), conf);
    TableRows rows = source.rows();
    return rows.isKnown()
        && source
            .statistics()
            .mayHaveAllValuesOf(
                keys.column(),
                rows.rows(),
                new QueriedTable(table, conf).statistics(),
                DynamicPruning.columnOf(condition));
  }
}
