package io.pyhudi.hive.planning;

import io.pyhudi.hive.protocol.EqualRows;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.PruneCounts;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;

/**
 * The rows of all files that a scan would read, as far as a query needs them: the values of
 * partition columns, as often as the files have rows with them. Hive filters and groups them as the
 * files' own.
 */
public final class PartitionRows extends GeneratedRows {
  private final List<String> columns;
  private final List<EqualRows> groups;
  private final long[] ends;

  /**
   * @param columns lower-case names
   * @param groups with a value of each column
   * @param ends the first row behind each group
   */
  private PartitionRows(
      List<String> columns, List<EqualRows> groups, long[] ends, long files, long bytes) {
    super(files, bytes);
    this.columns = columns;
    this.groups = groups;
    this.ends = ends;
  }

  /**
   * Returns the rows; empty if a value is not known as Hive's readers read it, or if reading the
   * files takes less time.
   *
   * @param counted the rows of all files that the scan would read
   * @param counts the service's own counts
   */
  public static Optional<PartitionRows> of(
      JobConf job, PartitionQuery query, List<EqualRows> counted, PruneCounts counts) {
    PartitionRows rows = of(query, counted, counts);
    return rows != null && ExtremeRows.isQuick(rows.rows(), Utilities.getIsVectorized(job))
        ? Optional.of(rows)
        : Optional.empty();
  }

  /** Returns null if a value is not known as Hive's readers read it. */
  static PartitionRows of(PartitionQuery query, List<EqualRows> counted, PruneCounts counts) {
    List<EqualRows> groups = new ArrayList<>();
    for (EqualRows each : counted) {
      if (!areExact(each.getValues(), query.types())) {
        return null;
      }
      groups.add(new EqualRows(each.getValues(), query.countsRows() ? each.getRows() : 1));
    }
    return of(
        query.columnNames(), groups, counts.getFilesConsidered(), counts.getBytesConsidered());
  }

  private static PartitionRows of(
      List<String> columns, List<EqualRows> groups, long files, long bytes) {
    long[] ends = new long[groups.size()];
    long rows = 0;
    for (int i = 0; i < ends.length; i++) {
      rows += groups.get(i).getRows();
      ends[i] = rows;
    }
    return new PartitionRows(columns, groups, ends, files, bytes);
  }

  private static boolean areExact(List<Literal> values, List<TypeInfo> types) {
    boolean areExact = values.size() == types.size();
    for (int i = 0; areExact && i < types.size(); i++) {
      areExact = ExactValues.of(values.get(i), types.get(i)).isPresent();
    }
    return areExact;
  }

  @Override
  public long rows() {
    return ends.length == 0 ? 0 : ends[ends.length - 1];
  }

  @Override
  public Writable value(String column, TypeInfo type, long row) {
    int position = columns.indexOf(column.toLowerCase(Locale.ROOT));
    return position < 0
        ? null
        : ExactValues.of(groups.get(group(row)).getValues().get(position), type)
            .orElseThrow(IllegalStateException::new);
  }

  @Override
  public long endOfRun(long row) {
    return ends[group(row)];
  }

  /** Returns the first group that ends behind a row. */
  private int group(long row) {
    int found = Arrays.binarySearch(ends, row);
    return found < 0 ? -found - 1 : found + 1;
  }

  @Override
  Kind kind() {
    return Kind.OF_PARTITIONS;
  }

  @Override
  void writeRows(DataOutput out) throws IOException {
    out.writeInt(columns.size());
    for (String column : columns) {
      out.writeUTF(column);
    }
    out.writeInt(groups.size());
    for (EqualRows group : groups) {
      ThriftValues.write(out, group);
    }
  }

  static PartitionRows readRows(DataInput in, long files, long bytes) throws IOException {
    List<String> columns = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      columns.add(in.readUTF());
    }
    List<EqualRows> groups = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      groups.add(ThriftValues.read(in, new EqualRows()));
    }
    return of(columns, groups, files, bytes);
  }
}
