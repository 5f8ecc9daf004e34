package io.pyhudi.hive.version;

import io.pyhudi.hive.planning.FirstKeys;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.TopNKeyDesc;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector.Category;

/** Differences that readers and splits have to consider in Hive 4. */
public final class HiveVersion {
  private HiveVersion() {}

  /** Returns whether a task finds a split's table only by the table's base path. */
  public static boolean findsTablesByBasePath(Configuration job) {
    return false;
  }

  /**
   * Returns whether Hive's own Parquet reader reads timestamps as Hudi stores them, in integers.
   */
  public static boolean readsTimestamps() {
    return true;
  }

  /**
   * Returns whether Hive's own Parquet readers can be kept from filtering by the query's predicate.
   */
  public static boolean readsUnfiltered() {
    return true;
  }

  /**
   * Returns whether Hive's vectorised Parquet reader reads columns of this category with primitive
   * values.
   */
  public static boolean readsInBatches(Category category) {
    return true;
  }

  /**
   * Returns whether each scan has the properties of its own table: the local task of a map join in
   * Hive 3.1 reads the small side with those of the other one.
   */
  public static boolean keepsTablesApart() {
    return true;
  }

  /**
   * Returns which keys an operator keeps, if it drops nothing but rows beyond the first keys of the
   * order of all rows; else null.
   */
  public static FirstKeys firstKeys(OperatorDesc operator) {
    if (!(operator instanceof TopNKeyDesc)) {
      return null;
    }
    TopNKeyDesc keys = (TopNKeyDesc) operator;
    boolean isDivided =
        keys.getPartitionKeyColumns() != null && !keys.getPartitionKeyColumns().isEmpty();
    return isDivided || keys.getKeyColumns().isEmpty()
        ? null
        : new FirstKeys(
            keys.getTopN(),
            keys.getKeyColumns().get(0),
            keys.getColumnSortOrder(),
            keys.getNullOrder());
  }
}
