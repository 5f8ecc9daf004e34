package io.pyhudi.hive.read;

import io.pyhudi.hive.scan.ScanReport;
import org.apache.hadoop.mapred.Reporter;

/** Counts what tasks read whole although only some of its rows were selected. */
final class RowCounters {
  private RowCounters() {}

  /** Counts a split of a file that is not the one in which the rows were selected. */
  static void addWholeSplit(Reporter reporter) {
    add(reporter, "SPLITS_READ_WHOLE", 1);
  }

  /** Counts row groups whose pages cannot be selected. */
  static void addWholeRowGroups(Reporter reporter, int groups) {
    add(reporter, "ROW_GROUPS_READ_WHOLE", groups);
  }

  private static void add(Reporter reporter, String name, int count) {
    if (reporter != null && count > 0) {
      reporter.incrCounter(ScanReport.COUNTERS, name, count);
    }
  }
}
