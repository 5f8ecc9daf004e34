package io.pyhudi.hive.metadata;

import io.pyhudi.hive.protocol.MetadataColumn;
import io.pyhudi.hive.protocol.MetadataResponse;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.serde2.io.TimestampWritableV2;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.Reporter;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializer;

/** The rows of a metadata view that the pruning service has sent. */
public final class MetadataRows {
  private static final String PARTITION_PATH = "partition_path";
  private static final String COUNTERS = "Hudi pruning";

  private final MetadataResponse response;

  private MetadataRows(MetadataResponse response) {
    this.response = response;
  }

  static MetadataRows of(MetadataResponse response) {
    return new MetadataRows(response);
  }

  List<MetadataColumn> columns() {
    return response.getColumns();
  }

  /** Returns the number of rows that were sent. */
  public int size() {
    return (int) response.getRowsSent();
  }

  /** Returns the number of rows to which the service applied the filter. */
  public long considered() {
    return response.getRowsConsidered();
  }

  /** Returns the partitions, by their relative paths, of whose files the rows tell. */
  public Set<String> partitions() {
    Set<String> partitions = new HashSet<>();
    for (MetadataColumn column : response.getColumns()) {
      if (column.getName().equals(PARTITION_PATH) && column.isSetTexts()) {
        partitions.addAll(column.getTexts());
      }
    }
    return partitions;
  }

  /** Adds the numbers to the job's counters. */
  public void count(Reporter reporter) {
    reporter.incrCounter(COUNTERS, "METADATA_ROWS_CONSIDERED", considered());
    reporter.incrCounter(COUNTERS, "METADATA_ROWS_SENT", size());
  }

  /**
   * Returns the values of a column by the number of the row, in the format of Hive's Parquet rows.
   *
   * @throws IOException if the service did not send the column, or sent another type
   */
  public IntFunction<Writable> values(String name, TypeInfo type) throws IOException {
    for (MetadataColumn column : response.getColumns()) {
      if (column.getName().equalsIgnoreCase(name)) {
        if (!column.getType().equals(type.getTypeName())) {
          throw unreadable(name, "is " + type + " in Hive, and " + column.getType() + " now");
        }
        return nullable(column, values(column));
      }
    }
    throw unreadable(name, "is not known to the pruning service");
  }

  private IOException unreadable(String column, String reason) {
    return new IOException(
        "metadata view of "
            + response.getBasePath()
            + ": its column "
            + column
            + " "
            + reason
            + "; register it again: pyhudi hive register TABLE --metadata");
  }

  private IntFunction<Writable> values(MetadataColumn column) throws IOException {
    switch (column.getType()) {
      case "string":
        return of(column.getTexts(), column, Text::new);
      case "bigint":
        return of(column.getIntegers(), column, LongWritable::new);
      case "timestamp":
        return of(
            column.getIntegers(),
            column,
            millis -> new TimestampWritableV2(Timestamp.ofEpochMilli(millis)));
      case "array<string>":
        return of(column.getTextLists(), column, MetadataRows::texts);
      default:
        throw unreadable(column.getName(), "has a type of a later version: " + column.getType());
    }
  }

  private <T> IntFunction<Writable> of(
      List<T> values, MetadataColumn column, Function<T, Writable> convert) throws IOException {
    if (values == null || values.size() != size()) {
      throw unreadable(column.getName(), "was not sent with " + size() + " values");
    }
    return row -> convert.apply(values.get(row));
  }

  private static Writable texts(List<String> values) {
    return new ArrayWritable(
        Writable.class, values.stream().map(Text::new).toArray(Writable[]::new));
  }

  private static IntFunction<Writable> nullable(
      MetadataColumn column, IntFunction<Writable> values) {
    BitSet nulls = new BitSet();
    column.getNulls().forEach(nulls::set);
    return row -> nulls.get(row) ? null : values.apply(row);
  }

  public void write(DataOutput out) throws IOException {
    try {
      byte[] written = new TSerializer().serialize(response);
      out.writeInt(written.length);
      out.write(written);
    } catch (TException e) {
      throw new IOException(e);
    }
  }

  public static MetadataRows read(DataInput in) throws IOException {
    byte[] written = new byte[in.readInt()];
    in.readFully(written);
    try {
      MetadataResponse response = new MetadataResponse();
      new TDeserializer().deserialize(response, written);
      return new MetadataRows(response);
    } catch (TException e) {
      throw new IOException(e);
    }
  }
}
