package io.pyhudi.hive.rows;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * The rows that the task of a split reads of its Parquet file: all of them are in row groups that
 * no other split has.
 *
 * <p>They were selected in the file with this footer. If the file has another one, nothing is known
 * about its rows, and each split reads the row groups that begin in its bytes.
 */
public final class RowSelection {
  private final byte[] footerDigest;
  private final RowRanges ranges;
  private final long bytes;

  /**
   * @param footerDigest the SHA-256 of the file's metadata, as it lies in the footer
   * @param ranges of the file's rows
   * @param bytes the length of the part of the file, from the start of the split, whose row groups
   *     are read if the file has another footer
   */
  RowSelection(byte[] footerDigest, RowRanges ranges, long bytes) {
    this.footerDigest = footerDigest;
    this.ranges = ranges;
    this.bytes = bytes;
  }

  byte[] footerDigest() {
    return footerDigest;
  }

  public RowRanges ranges() {
    return ranges;
  }

  /** Returns the bytes of the file, from the split's start, that the split stands for. */
  public long bytes() {
    return bytes;
  }

  /** Returns the selection with further rows of the file. */
  public RowSelection with(RowRanges others) {
    return new RowSelection(footerDigest, ranges.with(others), bytes);
  }

  public void write(DataOutput out) throws IOException {
    out.writeInt(footerDigest.length);
    out.write(footerDigest);
    ranges.write(out);
    out.writeLong(bytes);
  }

  public static RowSelection read(DataInput in) throws IOException {
    byte[] footerDigest = new byte[in.readInt()];
    in.readFully(footerDigest);
    return new RowSelection(footerDigest, RowRanges.read(in), in.readLong());
  }
}
