package io.pyhudi.hive.files;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;

/** Reads a {@link DataFile}: its end from memory, the rest by a stream that is opened on demand. */
final class DataFileStream extends PositionedStream {
  private final DataFile file;
  private final FileSystem fs;
  private FSDataInputStream rest;

  DataFileStream(DataFile file, FileSystem fs) {
    super(file.length(), file.path().toString());
    this.file = file;
    this.fs = fs;
  }

  @Override
  protected int readAt(long position, byte[] buffer, int offset, int count) throws IOException {
    return position >= file.endStart()
        ? readEnd(position, buffer, offset, count)
        : readRest(position, buffer, offset, count);
  }

  private int readEnd(long position, byte[] buffer, int offset, int length) throws IOException {
    byte[] end = file.end(fs);
    int start = (int) (position - file.endStart());
    int count = Math.min(length, end.length - start);
    System.arraycopy(end, start, buffer, offset, count);
    return count;
  }

  /** Reads up to where the end begins: a caller that wants more reads on from there. */
  private int readRest(long position, byte[] buffer, int offset, int length) throws IOException {
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
