package io.pyhudi.hive.files;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.FSInputStream;

/** A stream of bytes that are read by their positions; it ends like one of a file system. */
public abstract class PositionedStream extends FSInputStream {
  private final long length;
  private final String what;
  private long position;

  /**
   * @param length number of bytes
   * @param what is read, for messages
   */
  protected PositionedStream(long length, String what) {
    this.length = length;
    this.what = what;
  }

  /**
   * Reads bytes at a position before the end: at least one, or -1 if there is none after all.
   *
   * @param count the most bytes, at least one
   */
  protected abstract int readAt(long position, byte[] buffer, int offset, int count)
      throws IOException;

  @Override
  public final void seek(long target) throws IOException {
    if (target < 0 || target > length) {
      throw new EOFException("no byte " + target + " in " + what);
    }
    position = target;
  }

  @Override
  public final long getPos() {
    return position;
  }

  @Override
  public final boolean seekToNewSource(long target) {
    return false;
  }

  @Override
  public final int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public final int read(byte[] buffer, int offset, int count) throws IOException {
    if (count == 0) {
      return 0;
    }
    if (position >= length) {
      return -1;
    }
    int read = readAt(position, buffer, offset, count);
    position += Math.max(0, read);
    return read;
  }
}
