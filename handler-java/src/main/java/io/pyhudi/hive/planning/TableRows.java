package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.protocol.PruneResponse;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** The number of rows of a table, as the pruning service counts them. */
public final class TableRows {
  private static final TableRows UNKNOWN = new TableRows(-1, false);
  private static final TableMetadataCache<TableRows> COUNTED =
      new TableMetadataCache<>(UNKNOWN, request -> request.setCountRows(true), TableRows::read);

  private final long rows;
  private final boolean exact;

  private TableRows(long rows, boolean exact) {
    this.rows = rows;
    this.exact = exact;
  }

  /** Returns the number of rows as of now, or unknown. Never fails. */
  public static TableRows of(Configuration conf, Path basePath, PruningSettings settings) {
    return COUNTED.of(conf, basePath, settings);
  }

  private static TableRows read(PruneResponse response) {
    PruneCounts counts = response.getCounts();
    return counts != null && counts.isSetRowsKept()
        ? new TableRows(counts.getRowsKept(), counts.isRowsAreExact())
        : UNKNOWN;
  }

  public boolean isKnown() {
    return rows >= 0;
  }

  /**
   * Returns whether a scan of the table returns exactly {@link #rows}; the number is an upper bound
   * otherwise.
   */
  public boolean isExact() {
    return isKnown() && exact;
  }

  public long rows() {
    return rows;
  }
}
