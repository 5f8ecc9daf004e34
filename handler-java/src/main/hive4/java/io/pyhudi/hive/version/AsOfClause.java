package io.pyhudi.hive.version;

import io.pyhudi.hive.table.HiveZone;
import io.pyhudi.hive.table.StateException;
import java.time.DateTimeException;
import java.time.ZoneOffset;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.common.type.TimestampTZ;
import org.apache.hadoop.hive.common.type.TimestampTZUtil;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;

/**
 * The state of a table that a query names by {@code FOR SYSTEM_TIME AS OF} or {@code FOR
 * SYSTEM_VERSION AS OF}, as {@code hudi.as.of} would name it; empty if it names none.
 */
public final class AsOfClause {
  private AsOfClause() {}

  /** Returns what the query says of a table. */
  public static String of(Table table, Configuration conf) {
    refuse(table.getVersionIntervalFrom());
    return of(table.getAsOfTimestamp(), table.getAsOfVersion(), conf);
  }

  /** Returns what the query says of a scan. */
  public static String of(TableScanDesc scan, Configuration conf) {
    refuse(scan.getVersionIntervalFrom());
    return of(scan.getAsOfTimestamp(), scan.getAsOfVersion(), conf);
  }

  private static void refuse(String from) {
    if (from != null) {
      throw new StateException(
          "FOR SYSTEM_VERSION FROM cannot be read of Hudi tables; SET hoodie.TABLE.consume.mode and"
              + " others for an incremental query",
          null);
    }
  }

  private static String of(String time, String version, Configuration conf) {
    if (time == null) {
      return version == null ? "" : version;
    }
    try {
      return TimestampTZUtil.parse(time, HiveZone.of(conf)).toString();
    } catch (DateTimeException e) {
      throw new StateException(
          "FOR SYSTEM_TIME AS OF '" + time + "' is not a time, such as '2026-01-31 10:00:00'", e);
    }
  }

  /** Returns what Hive has pushed into the configuration of a fetch task. */
  public static String of(Configuration job) {
    refuse(job.get(TableScanDesc.FROM_VERSION));
    String millis = job.get(TableScanDesc.AS_OF_TIMESTAMP);
    if (millis == null) {
      return job.get(TableScanDesc.AS_OF_VERSION, "");
    }
    long time = Long.parseLong(millis);
    int nanos = (int) Math.floorMod(time, 1000L) * 1_000_000;
    return new TimestampTZ(Math.floorDiv(time, 1000L), nanos, ZoneOffset.UTC).toString();
  }
}
