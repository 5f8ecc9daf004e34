package io.pyhudi.hive.scan;

import io.pyhudi.hive.LastScan;
import io.pyhudi.hive.metadata.MetadataRows;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.planning.GeneratedRows;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.rows.RowSelection;
import io.pyhudi.hive.table.Slice;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.Reporter;

/**
 * A part of a plain Parquet file, a whole slice that Hudi has to merge, rows that represent all
 * rows, or those of a metadata view.
 *
 * <p>Its path is a data file of the slice, or the table's base path. Hive finds the split's table
 * by this path. The first split of a scan also carries the scan's numbers, since only a task has
 * counters.
 */
public final class HudiSplit extends FileSplit {
  private MergedSlice merged;
  private boolean isPlain;
  private boolean isJoined;
  private String hidesKeysOf;
  private ScanReport report;
  private String table;
  private GeneratedRows generated;
  private MetadataRows metadata;
  private long fileLength = -1;
  private RowSelection rows;

  /** Creates an empty split, which Hadoop fills by {@link #readFields}. */
  public HudiSplit() {
    super();
  }

  private HudiSplit(Path path, long start, long length, String[] hosts, MergedSlice merged) {
    super(path, start, length, hosts);
    this.merged = merged;
  }

  /**
   * A part of a plain Parquet file.
   *
   * @param fileLength the length of the whole file, bytes
   */
  public static HudiSplit plain(FileSplit part, long fileLength) throws IOException {
    HudiSplit split =
        new HudiSplit(part.getPath(), part.getStart(), part.getLength(), part.getLocations(), null);
    split.fileLength = fileLength;
    return split;
  }

  /**
   * Selected rows of a plain Parquet file. Its length is about that of these rows, for engines that
   * group splits by their lengths.
   *
   * @param fileLength the length of the whole file, bytes
   */
  public static HudiSplit selected(FileRows.Part part, long fileLength) throws IOException {
    FileSplit file = part.file();
    HudiSplit split =
        new HudiSplit(file.getPath(), file.getStart(), part.weight(), file.getLocations(), null);
    split.fileLength = fileLength;
    split.rows = part.rows();
    return split;
  }

  /**
   * A slice that is merged as a whole.
   *
   * @param instant the newest instant that the query reads
   * @param stateKey of the state of the table
   */
  public static HudiSplit merged(Path basePath, Slice slice, String instant, String stateKey) {
    MergedSlice merged = MergedSlice.of(basePath, slice.fileSlice(), instant, stateKey);
    return new HudiSplit(merged.anyFile(), 0, Math.max(1, slice.bytes()), new String[0], merged);
  }

  /** Creates a split of rows that represent all rows of a table. */
  static HudiSplit generated(Path basePath, GeneratedRows rows) {
    HudiSplit split = new HudiSplit(basePath, 0, 1, new String[0], null);
    split.generated = rows;
    return split;
  }

  /** Creates a split of the rows of a metadata view. */
  static HudiSplit metadata(MetadataView view, MetadataRows rows) {
    HudiSplit split = new HudiSplit(view.location(), 0, 1, new String[0], null);
    split.metadata = rows;
    return split;
  }

  /** Returns the rows of a metadata view, or null if a table is read. */
  public MetadataRows metadata() {
    return metadata;
  }

  /** Returns the rows that represent all rows of the table, or null if files are read. */
  public GeneratedRows generated() {
    return generated;
  }

  /**
   * Makes Hive find the table by its base path, for cases in which a data file's path does not
   * identify it.
   */
  HudiSplit withTablePath(Path basePath) {
    this.table = basePath.toString();
    return this;
  }

  /** Returns the path by which Hive finds the table. */
  @Override
  public Path getPath() {
    return table == null ? super.getPath() : new Path(table);
  }

  /** The part of a plain Parquet file, or the base file of a joined slice. */
  public FileSplit file() throws IOException {
    long wholeLength = isJoined ? fileLength : getLength();
    long length = rows == null ? wholeLength : rows.bytes();
    return new FileSplit(super.getPath(), getStart(), length, getLocations());
  }

  /** Returns the rows to read of a plain Parquet file, or null for all rows of the part. */
  public RowSelection rows() {
    return rows;
  }

  /** Makes Hive's Parquet reader read these rows only, if it reads the slice. */
  HudiSplit ofRows(RowSelection selected) {
    this.rows = selected;
    return this;
  }

  /** Returns the length of the whole plain Parquet file in bytes; -1 if it is not known. */
  public long fileLength() {
    return fileLength;
  }

  /**
   * Returns the slice to merge, or null for a part of a plain Parquet file, which only Hive can
   * read.
   */
  public MergedSlice mergedSlice() {
    return merged;
  }

  /** Reads only the rows of the slice that these commits wrote. */
  HudiSplit ofCommits(Set<String> requestedTimes) {
    merged.ofCommits(requestedTimes);
    return this;
  }

  /** Marks the slice as one plain Parquet file, which Hive's Parquet reader may read. */
  HudiSplit asPlainFile() {
    this.isPlain = true;
    this.fileLength = merged.slice().getBaseFile().get().getFileSize();
    return this;
  }

  /** Returns whether the split is a plain Parquet file or a part of one. Hudi may read it too. */
  public boolean isPlainFile() {
    return merged == null || isPlain;
  }

  /** Lets Hive's Parquet reader read those rows of the base file that no log file changes. */
  HudiSplit asJoined() {
    this.isJoined = true;
    this.fileLength = merged.slice().getBaseFile().get().getFileSize();
    return this;
  }

  /** Returns whether Hive's Parquet reader may read rows of the base file that are not merged. */
  public boolean isJoined() {
    return isJoined;
  }

  /** Attaches the scan's numbers; the task of this split adds them to the counters. */
  public HudiSplit withReport(ScanReport scan) {
    this.report = scan;
    return this;
  }

  /** Makes the record key column read as NULL. */
  HudiSplit withHiddenKeysOf(Path basePath) {
    this.hidesKeysOf = basePath.toString();
    return this;
  }

  /**
   * Returns the base path of the table whose record key column reads as NULL, or null if the column
   * is read.
   */
  public String hiddenKeysTable() {
    return hidesKeysOf;
  }

  public void count(Reporter reporter) {
    if (report != null && reporter != null) {
      report.count(reporter);
      LastScan.is(report.text());
    }
    if (metadata != null && reporter != null) {
      metadata.count(reporter);
    }
  }

  @Override
  public void write(DataOutput out) throws IOException {
    super.write(out);
    out.writeBoolean(merged != null);
    if (merged != null) {
      merged.write(out);
    }
    out.writeBoolean(isPlain);
    out.writeBoolean(isJoined);
    writeText(out, hidesKeysOf);
    writeText(out, table);
    out.writeBoolean(report != null);
    if (report != null) {
      report.write(out);
    }
    out.writeBoolean(generated != null);
    if (generated != null) {
      generated.write(out);
    }
    out.writeBoolean(metadata != null);
    if (metadata != null) {
      metadata.write(out);
    }
    out.writeLong(fileLength);
    out.writeBoolean(rows != null);
    if (rows != null) {
      rows.write(out);
    }
  }

  @Override
  public void readFields(DataInput in) throws IOException {
    super.readFields(in);
    merged = in.readBoolean() ? MergedSlice.read(in) : null;
    isPlain = in.readBoolean();
    isJoined = in.readBoolean();
    hidesKeysOf = readText(in);
    table = readText(in);
    report = in.readBoolean() ? ScanReport.read(in) : null;
    generated = in.readBoolean() ? GeneratedRows.read(in) : null;
    metadata = in.readBoolean() ? MetadataRows.read(in) : null;
    fileLength = in.readLong();
    rows = in.readBoolean() ? RowSelection.read(in) : null;
  }

  private static void writeText(DataOutput out, String text) throws IOException {
    out.writeBoolean(text != null);
    if (text != null) {
      Text.writeString(out, text);
    }
  }

  private static String readText(DataInput in) throws IOException {
    return in.readBoolean() ? Text.readString(in) : null;
  }
}
