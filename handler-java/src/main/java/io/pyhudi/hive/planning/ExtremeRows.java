package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.MatchingRows;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.table.HudiTable;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;

/**
 * Rows that represent all rows of a table in a query of minimum and maximum values and counts only:
 * the first row has the minimum of each queried column, the others the maximum.
 *
 * <p>If the query counts nothing, there are two rows. Otherwise there are as many as the table has,
 * and the last rows have NULL in a column whose values are counted, as many as the column has
 * NULLs.
 */
public final class ExtremeRows extends GeneratedRows {
  /** Hive's own setting: whether statistics may answer queries. */
  private static final String BY_STATISTICS = "hive.compute.query.using.stats";

  /** One task generates this many rows in a few seconds; many tasks may read the files. */
  private static final long MOST_IN_BATCHES = 1_000_000_000;

  private static final long MOST_ONE_BY_ONE = 5_000_000;

  private final Map<String, ColumnSummary> columns;
  private final long rows;

  /**
   * @param columns by lower-case name, with the minimum, the maximum and the number of NULLs to
   *     generate
   */
  private ExtremeRows(Map<String, ColumnSummary> columns, long rows, long files, long bytes) {
    super(files, bytes);
    this.columns = columns;
    this.rows = rows;
  }

  /**
   * Returns the rows, if they are all that the query needs of the table and the statistics are
   * known.
   *
   * @param locations of the table, as the query reads it
   */
  public static Optional<ExtremeRows> of(
      JobConf job, HudiTable table, List<Path> locations, PruningSettings settings) {
    if (!areAllowed(job) || !table.isScannedWhole(locations)) {
      return Optional.empty();
    }
    return MinMaxQuery.of(job, locations)
        .flatMap(query -> of(query, TableDescription.of(table, settings)))
        .filter(found -> isQuick(found.rows, Utilities.getIsVectorized(job)));
  }

  /**
   * Returns the rows that represent all that match a query's filter, if these are known.
   *
   * @param matching the rows that match
   * @param counts the service's own counts
   */
  public static Optional<ExtremeRows> of(
      JobConf job, MinMaxQuery query, MatchingRows matching, PruneCounts counts) {
    PruneCounts counted = counts.deepCopy();
    counted.setRowsKept(matching.getRows()).setRowsAreExact(true);
    return of(query, TableDescription.of(matching.getColumns(), counted))
        .filter(found -> isQuick(found.rows, Utilities.getIsVectorized(job)));
  }

  /** Returns whether statistics may answer a job's query. */
  public static boolean areAllowed(JobConf job) {
    return job.getBoolean(BY_STATISTICS, true);
  }

  /** Returns whether generating this many rows is faster than reading the files. */
  static boolean isQuick(long rows, boolean vectorized) {
    return rows <= (vectorized ? MOST_IN_BATCHES : MOST_ONE_BY_ONE);
  }

  static Optional<ExtremeRows> of(MinMaxQuery query, TableDescription table) {
    PruneCounts counts = table.counts();
    boolean isCounted = counts != null && counts.isSetRowsKept() && counts.isRowsAreExact();
    if (counts == null || (query.countsAny() && !isCounted)) {
      return Optional.empty();
    }
    long rows = query.countsAny() ? counts.getRowsKept() : 2;
    Map<String, ColumnSummary> columns = new TreeMap<>();
    for (Map.Entry<String, TypeInfo> column : query.columns().entrySet()) {
      String name = column.getKey();
      ColumnSummary known = table.columns().get(name);
      boolean isCountedOrFiltered = query.counts(name) || query.filters(name);
      if (known == null || !isExact(known, column.getValue(), isCountedOrFiltered)) {
        return Optional.empty();
      }
      if (query.filters(name) && known.getNulls() > 0) {
        // Both ends are values of rows that match; NULL may not.
        return Optional.empty();
      }
      ColumnSummary given = new ColumnSummary(name);
      given.setLeast(known.getLeast()).setGreatest(known.getGreatest());
      given.setNulls(query.counts(name) ? known.getNulls() : 0);
      if (!fits(given, rows)) {
        return Optional.empty();
      }
      columns.put(name, given);
    }
    return Optional.of(
        new ExtremeRows(columns, rows, counts.getFilesConsidered(), counts.getBytesConsidered()));
  }

  private static boolean isExact(ColumnSummary column, TypeInfo type, boolean isCounted) {
    return column.isAttained()
        && ExactValues.of(column.getLeast(), type).isPresent()
        && ExactValues.of(column.getGreatest(), type).isPresent()
        && (column.isSetNulls() || !isCounted);
  }

  /** Returns whether this many rows can hold both the minimum and the maximum. */
  private static boolean fits(ColumnSummary column, long rows) {
    long values = rows - column.getNulls();
    return values > 1 || (values == 1 && column.getLeast().equals(column.getGreatest()));
  }

  @Override
  public long rows() {
    return rows;
  }

  @Override
  public Writable value(String column, TypeInfo type, long row) {
    ColumnSummary found = columns.get(column.toLowerCase(Locale.ROOT));
    if (found == null || row >= rows - found.getNulls()) {
      return null;
    }
    Literal end = row == 0 ? found.getLeast() : found.getGreatest();
    return ExactValues.of(end, type).orElseThrow(IllegalStateException::new);
  }

  @Override
  public long endOfRun(long row) {
    LongStream nulls = columns.values().stream().mapToLong(column -> rows - column.getNulls());
    return LongStream.concat(LongStream.of(1, rows), nulls)
        .filter(end -> end > row)
        .min()
        .orElse(rows);
  }

  @Override
  Kind kind() {
    return Kind.EXTREMES;
  }

  @Override
  void writeRows(DataOutput out) throws IOException {
    out.writeLong(rows);
    out.writeInt(columns.size());
    for (ColumnSummary column : columns.values()) {
      ThriftValues.write(out, column);
    }
  }

  static ExtremeRows readRows(DataInput in, long files, long bytes) throws IOException {
    long rows = in.readLong();
    Map<String, ColumnSummary> columns = new TreeMap<>();
    for (int left = in.readInt(); left > 0; left--) {
      ColumnSummary column = ThriftValues.read(in, new ColumnSummary());
      columns.put(column.getName(), column);
    }
    return new ExtremeRows(columns, rows, files, bytes);
  }
}
