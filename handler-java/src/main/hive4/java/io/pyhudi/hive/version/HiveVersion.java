package io.pyhudi.hive.version;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector.Category;

/** What readers and splits have to know of Hive 4. */
public final class HiveVersion {
  private HiveVersion() {}

  /** Whether a task knows the table that a split belongs to by the table's own path alone. */
  public static boolean findsTablesByTheirPath(Configuration job) {
    return false;
  }

  /** Whether Hive's own Parquet reader reads timestamps as Hudi stores them, in integers. */
  public static boolean readsTimestamps() {
    return true;
  }

  /** Whether Hive's own Parquet readers can be kept from filtering by the query's predicate. */
  public static boolean readsUnfiltered() {
    return true;
  }

  /** Whether Hive's vectorised Parquet reader reads such columns, of primitive values. */
  public static boolean readsInBatches(Category category) {
    return true;
  }
}
