package io.pyhudi.hive.planning;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.Writable;

/**
 * Rows that a scan returns in place of those of the files; they contain long runs of equal rows.
 */
public abstract class GeneratedRows {
  private final long files;
  private final long bytes;

  GeneratedRows(long files, long bytes) {
    this.files = files;
    this.bytes = bytes;
  }

  /** Returns the number of files that need not be read. */
  public final long files() {
    return files;
  }

  /** Returns the size of these files, in bytes. */
  public final long bytes() {
    return bytes;
  }

  /** Returns the number of rows. */
  public abstract long rows();

  /**
   * Returns the value of a column in a row; null if it is NULL or the query does not use the
   * column.
   */
  public abstract Writable value(String column, TypeInfo type, long row);

  /** Returns the first row after a row whose values differ from it, or {@link #rows}. */
  public abstract long endOfRun(long row);

  /** Returns what {@link #read} tells these rows by. */
  abstract Kind kind();

  abstract void writeRows(DataOutput out) throws IOException;

  /** Writes what {@link #read} reads. */
  public final void write(DataOutput out) throws IOException {
    out.writeLong(files);
    out.writeLong(bytes);
    out.writeByte(kind().ordinal());
    writeRows(out);
  }

  public static GeneratedRows read(DataInput in) throws IOException {
    long files = in.readLong();
    long bytes = in.readLong();
    return Kind.values()[in.readByte()].reader.read(in, files, bytes);
  }

  enum Kind {
    OF_PARTITIONS(PartitionRows::readRows),
    EXTREMES(ExtremeRows::readRows);

    private final Reader reader;

    Kind(Reader reader) {
      this.reader = reader;
    }
  }

  private interface Reader {
    GeneratedRows read(DataInput in, long files, long bytes) throws IOException;
  }
}
