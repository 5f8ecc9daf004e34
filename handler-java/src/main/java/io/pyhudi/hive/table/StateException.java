package io.pyhudi.hive.table;

import org.apache.hadoop.fs.Path;

/**
 * A query asks for a state of a table that does not exist, or whose files are gone.
 *
 * <p>Of an error while it plans, Hive reports the innermost cause alone. So this has none; what
 * caused it is suppressed.
 */
public final class StateException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StateException(String reason, Throwable cause) {
    super(reason);
    if (cause != null) {
      addSuppressed(cause);
    }
  }

  StateException(Path table, String reason, Throwable cause) {
    this("Hudi table " + table + ": " + reason, cause);
  }
}
