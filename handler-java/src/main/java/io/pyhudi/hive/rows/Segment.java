package io.pyhudi.hive.rows;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.fs.FSDataInputStream;

/** Adjacent bytes of the content that a reader gets: from memory, or as they lie in the file. */
abstract class Segment {
  private final long length;

  private Segment(long length) {
    this.length = length;
  }

  final long length() {
    return length;
  }

  /** Reads one byte or more from an offset within the segment. */
  abstract int read(long offset, byte[] buffer, int start, int count) throws IOException;

  static Segment ofMemory(ByteBuffer bytes) {
    return new Segment(bytes.remaining()) {
      @Override
      int read(long offset, byte[] buffer, int start, int count) {
        ByteBuffer rest = bytes.duplicate();
        rest.position(rest.position() + (int) offset);
        int taken = Math.min(count, rest.remaining());
        rest.get(buffer, start, taken);
        return taken;
      }
    };
  }

  static Segment ofFile(FSDataInputStream file, long fileStart, long length) {
    return new Segment(length) {
      @Override
      int read(long offset, byte[] buffer, int start, int count) throws IOException {
        if (file.getPos() != fileStart + offset) {
          file.seek(fileStart + offset);
        }
        int taken = file.read(buffer, start, (int) Math.min(count, length - offset));
        if (taken < 0) {
          throw new EOFException("a file ends before byte " + (fileStart + length));
        }
        return taken;
      }
    };
  }
}
