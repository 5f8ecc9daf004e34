package io.pyhudi.hive;

/**
 * The last scan of which this JVM reads the first split, for diagnosis: a task does not make
 * splits, but may tell what came of it where they were made.
 */
public final class LastScan {
  private static volatile String text;

  private LastScan() {}

  /**
   * @param report the result of the scan, as EXPLAIN shows it
   */
  public static void is(String report) {
    text = report;
  }

  /** Returns the result of the scan; null if none is known here. */
  static String text() {
    return text;
  }
}
