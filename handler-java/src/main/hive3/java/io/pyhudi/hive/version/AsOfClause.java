package io.pyhudi.hive.version;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;

/** The state of a table that a query names itself: in Hive 3.1 it cannot name one. */
public final class AsOfClause {
  private AsOfClause() {}

  /** Returns what the query says of a scan. */
  public static String of(TableScanDesc scan, Configuration conf) {
    return "";
  }

  /** Returns what Hive has pushed into the configuration of a fetch task. */
  public static String of(Configuration job) {
    return "";
  }
}
