package io.pyhudi.hive.table;

import org.apache.hadoop.fs.Path;

/** A query asks for a state of a table that does not exist, or whose files are gone. */
public final class StateException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StateException(String reason, Throwable cause) {
    super(reason, cause);
  }

  StateException(Path table, String reason, Throwable cause) {
    this("Hudi table " + table + ": " + reason, cause);
  }
}
