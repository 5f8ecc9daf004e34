package io.pyhudi.hive.scan;

import io.pyhudi.hive.table.Slice;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.Reporter;

/**
 * A part of a plain Parquet file, or a whole slice that Hudi has to merge.
 *
 * <p>Its path is a data file of the slice, by which Hive finds the table that it belongs to. The
 * first split of a scan also carries the scan's numbers, since only a task has counters.
 */
public final class HudiSplit extends FileSplit {
  private MergedSlice merged;
  private String hidesKeysOf;
  private ScanReport report;

  /** For Hadoop, which fills it by {@link #readFields}. */
  public HudiSplit() {
    super();
  }

  private HudiSplit(Path path, long start, long length, String[] hosts, MergedSlice merged) {
    super(path, start, length, hosts);
    this.merged = merged;
  }

  /** A part of a plain Parquet file. */
  public static HudiSplit plain(FileSplit part) throws IOException {
    return new HudiSplit(
        part.getPath(), part.getStart(), part.getLength(), part.getLocations(), null);
  }

  /** A slice that is merged as a whole. */
  public static HudiSplit merged(Path basePath, Slice slice, String instant) {
    MergedSlice merged = MergedSlice.of(basePath, slice.fileSlice(), instant);
    return new HudiSplit(merged.anyFile(), 0, Math.max(1, slice.bytes()), new String[0], merged);
  }

  /** The slice to merge, or null for a part of a plain Parquet file. */
  public MergedSlice mergedSlice() {
    return merged;
  }

  /** Makes this split the one that brings the scan's numbers to the counters. */
  public HudiSplit carrying(ScanReport scan) {
    this.report = scan;
    return this;
  }

  /** Makes the record key column read as NULL. */
  HudiSplit hidingKeysOf(Path basePath) {
    this.hidesKeysOf = basePath.toString();
    return this;
  }

  /** The base path of the table whose record key column reads as NULL, or null where it is read. */
  public String hidesKeysOf() {
    return hidesKeysOf;
  }

  public void count(Reporter reporter) {
    if (report != null && reporter != null) {
      report.count(reporter);
    }
  }

  @Override
  public void write(DataOutput out) throws IOException {
    super.write(out);
    out.writeBoolean(merged != null);
    if (merged != null) {
      merged.write(out);
    }
    out.writeBoolean(hidesKeysOf != null);
    if (hidesKeysOf != null) {
      Text.writeString(out, hidesKeysOf);
    }
    out.writeBoolean(report != null);
    if (report != null) {
      report.write(out);
    }
  }

  @Override
  public void readFields(DataInput in) throws IOException {
    super.readFields(in);
    merged = in.readBoolean() ? MergedSlice.read(in) : null;
    hidesKeysOf = in.readBoolean() ? Text.readString(in) : null;
    report = in.readBoolean() ? ScanReport.read(in) : null;
  }
}
