package io.pyhudi.hive.version;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector.Category;

/** What readers and splits have to know of Hive 3.1. */
public final class HiveVersion {
  private HiveVersion() {}

  /**
   * Whether a task knows the table that a split belongs to by the table's own path alone: Hive 3.1
   * does so for tables with a storage handler.
   */
  public static boolean findsTablesByTheirPath(Configuration job) {
    return job.get(hive_metastoreConstants.META_TABLE_STORAGE) != null;
  }

  /** Whether Hive's own Parquet reader reads timestamps as Hudi stores them, in integers. */
  public static boolean readsTimestamps() {
    return false;
  }

  /** Whether Hive's own Parquet readers can be kept from filtering by the query's predicate. */
  public static boolean readsUnfiltered() {
    return false;
  }

  /** Whether Hive's vectorised Parquet reader reads such columns, of primitive values. */
  public static boolean readsInBatches(Category category) {
    return category != Category.LIST && category != Category.MAP;
  }
}
