package io.pyhudi.hive.version;

import io.pyhudi.hive.planning.FirstKeys;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector.Category;

/** Differences that readers and splits have to consider in Hive 3.1. */
public final class HiveVersion {
  private HiveVersion() {}

  /**
   * Returns whether a task finds a split's table only by the table's base path: Hive 3.1 does so
   * for tables with a storage handler.
   */
  public static boolean findsTablesByBasePath(Configuration job) {
    return job.get(hive_metastoreConstants.META_TABLE_STORAGE) != null;
  }

  /**
   * Returns whether Hive's own Parquet reader reads timestamps as Hudi stores them, in integers.
   */
  public static boolean readsTimestamps() {
    return false;
  }

  /**
   * Returns whether Hive's own Parquet readers can be kept from filtering by the query's predicate.
   */
  public static boolean readsUnfiltered() {
    return false;
  }

  /**
   * Returns whether Hive's vectorised Parquet reader reads columns of this category with primitive
   * values.
   */
  public static boolean readsInBatches(Category category) {
    return category != Category.LIST && category != Category.MAP;
  }

  /**
   * Returns whether each scan has the properties of its own table: the local task of a map join in
   * Hive 3.1 reads the small side with those of the other one.
   */
  public static boolean keepsTablesApart() {
    return false;
  }

  /** Returns null: Hive 3.1 has no operator that drops rows beyond the first keys of an order. */
  public static FirstKeys firstKeys(OperatorDesc operator) {
    return null;
  }
}
