package io.pyhudi.hive.files;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.FSInputStream;

/** A file's content in memory, as a stream that ends like one of a file system. */
public final class MemoryStream extends FSInputStream {
  private final byte[] content;
  private int position;

  public MemoryStream(byte[] content) {
    this.content = content;
  }

  @Override
  public void seek(long target) throws IOException {
    if (target < 0 || target > content.length) {
      throw new EOFException("no byte " + target + " in a file of " + content.length + " bytes");
    }
    position = (int) target;
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
  public int read() {
    return position < content.length ? content[position++] & 0xff : -1;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) {
    if (length == 0) {
      return 0;
    }
    int count = Math.min(length, content.length - position);
    if (count <= 0) {
      return -1;
    }
    System.arraycopy(content, position, buffer, offset, count);
    position += count;
    return count;
  }

  @Override
  public int available() {
    return content.length - position;
  }
}
