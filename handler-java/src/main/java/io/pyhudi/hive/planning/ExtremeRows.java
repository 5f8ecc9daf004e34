package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.table.HudiTable;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializer;

/**
 * Two rows that stand for all rows of a table in a query of nothing but least and greatest values:
 * one has the least of each column that is asked, the other the greatest.
 */
public final class ExtremeRows {
  /** Hive's own: whether queries may be answered by statistics. */
  private static final String BY_STATISTICS = "hive.compute.query.using.stats";

  private final Map<String, List<Literal>> ends;
  private final long files;
  private final long bytes;

  private ExtremeRows(Map<String, List<Literal>> ends, long files, long bytes) {
    this.ends = ends;
    this.files = files;
    this.bytes = bytes;
  }

  /**
   * The rows, if they are all that the query wants of a table, and are known.
   *
   * @param locations of the table, as the query reads it
   */
  public static Optional<ExtremeRows> of(
      JobConf job, HudiTable table, List<Path> locations, PruningSettings settings) {
    if (!job.getBoolean(BY_STATISTICS, true) || !table.isWholeIn(locations)) {
      return Optional.empty();
    }
    Map<String, TypeInfo> asked = AskedExtremes.of(job, locations);
    return asked.isEmpty() ? Optional.empty() : of(asked, Described.of(table, settings));
  }

  static Optional<ExtremeRows> of(Map<String, TypeInfo> asked, Described table) {
    Map<String, List<Literal>> ends = new TreeMap<>();
    for (Map.Entry<String, TypeInfo> column : asked.entrySet()) {
      ColumnSummary summary = table.columns().get(column.getKey());
      if (summary == null || !summary.isAttained()) {
        return Optional.empty();
      }
      List<Literal> found = Arrays.asList(summary.getLeast(), summary.getGreatest());
      if (!found.stream().allMatch(end -> ExactValues.of(end, column.getValue()).isPresent())) {
        return Optional.empty();
      }
      ends.put(column.getKey(), found);
    }
    return Optional.of(
        new ExtremeRows(
            ends, table.counts().getFilesConsidered(), table.counts().getBytesConsidered()));
  }

  /** How many files they save from being read. */
  public long files() {
    return files;
  }

  /** The size of these files. */
  public long bytes() {
    return bytes;
  }

  /** The values of a column, one in each row; none: the column is not asked. */
  public List<Writable> of(String column, TypeInfo type) {
    return ends.getOrDefault(column.toLowerCase(Locale.ROOT), Collections.emptyList()).stream()
        .map(end -> ExactValues.of(end, type).orElseThrow(IllegalStateException::new))
        .collect(Collectors.toList());
  }

  public void write(DataOutput out) throws IOException {
    out.writeLong(files);
    out.writeLong(bytes);
    out.writeInt(ends.size());
    for (Map.Entry<String, List<Literal>> column : ends.entrySet()) {
      out.writeUTF(column.getKey());
      for (Literal end : column.getValue()) {
        write(out, end);
      }
    }
  }

  public static ExtremeRows read(DataInput in) throws IOException {
    long files = in.readLong();
    long bytes = in.readLong();
    Map<String, List<Literal>> ends = new TreeMap<>();
    for (int left = in.readInt(); left > 0; left--) {
      String column = in.readUTF();
      ends.put(column, Arrays.asList(readLiteral(in), readLiteral(in)));
    }
    return new ExtremeRows(ends, files, bytes);
  }

  private static void write(DataOutput out, Literal literal) throws IOException {
    try {
      byte[] written = new TSerializer().serialize(literal);
      out.writeInt(written.length);
      out.write(written);
    } catch (TException e) {
      throw new IOException(e);
    }
  }

  private static Literal readLiteral(DataInput in) throws IOException {
    byte[] written = new byte[in.readInt()];
    in.readFully(written);
    try {
      Literal literal = new Literal();
      new TDeserializer().deserialize(literal, written);
      return literal;
    } catch (TException e) {
      throw new IOException(e);
    }
  }
}
