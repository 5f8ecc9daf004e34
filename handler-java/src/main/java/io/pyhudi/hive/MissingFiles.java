package io.pyhudi.hive;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.mapred.InvalidInputException;

/** Failures to plan a scan that Hive would not show. */
final class MissingFiles {
  private MissingFiles() {}

  /**
   * Returns the exception with which a scan fails in all engines. Hive's fetch task takes a table
   * for empty if the root cause is a missing file.
   */
  static IOException asFailure(Exception e) {
    Throwable root = e;
    while (root.getCause() != null && root.getCause() != root) {
      root = root.getCause();
    }
    if (root instanceof FileNotFoundException || root instanceof InvalidInputException) {
      IOException failure = new IOException("the table cannot be read: " + root.getMessage());
      failure.addSuppressed(e);
      return failure;
    }
    if (e instanceof RuntimeException) {
      throw (RuntimeException) e;
    }
    return (IOException) e;
  }
}
