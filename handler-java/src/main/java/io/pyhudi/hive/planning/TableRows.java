package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.table.TableSize;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** The number of rows, files and bytes of a table, as the pruning service counts them. */
public final class TableRows {
  private static final TableRows UNKNOWN = new TableRows(null);
  private static final TableMetadataCache<TableRows> COUNTED =
      new TableMetadataCache<>(UNKNOWN, request -> request.setCountRows(true), TableRows::read);

  private final PruneCounts counts;

  private TableRows(PruneCounts counts) {
    this.counts = counts;
  }

  /** Returns the numbers as of now, or unknown ones. Never fails. */
  public static TableRows of(Configuration conf, Path basePath, PruningSettings settings) {
    return COUNTED.of(conf, basePath, settings);
  }

  /** Returns numbers that are not known. */
  public static TableRows unknown() {
    return UNKNOWN;
  }

  private static TableRows read(PruneResponse response) {
    return new TableRows(response.getCounts());
  }

  /** Returns the number of files and bytes as Hive's basic statistics; null if unknown. */
  public Map<String, String> size() {
    return counts == null
        ? null
        : TableSize.statistics(counts.getFilesConsidered(), counts.getBytesConsidered());
  }

  /** Returns the number of bytes; 0 if unknown. */
  public long bytes() {
    return counts == null ? 0 : counts.getBytesConsidered();
  }

  /** Returns whether the number of rows is known. */
  public boolean isKnown() {
    return counts != null && counts.isSetRowsKept();
  }

  /**
   * Returns whether a scan of the table returns exactly {@link #rows}; the number is an upper bound
   * otherwise.
   */
  public boolean isExact() {
    return isKnown() && counts.isRowsAreExact();
  }

  public long rows() {
    return counts.getRowsKept();
  }
}
