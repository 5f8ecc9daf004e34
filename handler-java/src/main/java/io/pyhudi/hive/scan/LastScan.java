package io.pyhudi.hive.scan;

/**
 * The last scan of which this JVM reads the first split, for diagnosis: a task does not make
 * splits, but may tell what came of it where they were made.
 */
public final class LastScan {
  private static volatile String text;

  private LastScan() {}

  static void is(ScanReport report) {
    text = report.text();
  }

  /** Returns the result of the scan, as EXPLAIN shows it; null if no scan is known here. */
  public static String text() {
    return text;
  }
}
