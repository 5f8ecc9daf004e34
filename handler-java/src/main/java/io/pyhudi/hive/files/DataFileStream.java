package io.pyhudi.hive.files;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileSystem;

/** Reads a {@link DataFile}: its end from memory, the rest by a stream that is opened on demand. */
final class DataFileStream extends FSInputStream {
  private final DataFile file;
  private final FileSystem fs;
  private FSDataInputStream rest;
  private long position;

  DataFileStream(DataFile file, FileSystem fs) {
    this.file = file;
    this.fs = fs;
  }

  @Override
  public void seek(long target) throws IOException {
    if (target < 0 || target > file.length()) {
      throw new EOFException(file.path() + " has no byte " + target);
    }
    position = target;
  }

  @Override
  public long getPos() {
    return position;
  }

  @Override
  public boolean seekToNewSource(long target) {
    return false;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (position >= file.length()) {
      return -1;
    }
    int count =
        position >= file.endStart()
            ? readEnd(buffer, offset, length)
            : readRest(buffer, offset, length);
    position += Math.max(0, count);
    return count;
  }

  private int readEnd(byte[] buffer, int offset, int length) throws IOException {
    byte[] end = file.end(fs);
    int start = (int) (position - file.endStart());
    int count = Math.min(length, end.length - start);
    System.arraycopy(end, start, buffer, offset, count);
    return count;
  }

  /** Reads up to where the end begins: a caller that wants more reads on from there. */
  private int readRest(byte[] buffer, int offset, int length) throws IOException {
    if (rest == null) {
      rest = file.open(fs);
    }
    if (rest.getPos() != position) {
      rest.seek(position);
    }
    return rest.read(buffer, offset, (int) Math.min(length, file.endStart() - position));
  }

  @Override
  public void close() throws IOException {
    if (rest != null) {
      rest.close();
      rest = null;
    }
  }
}
