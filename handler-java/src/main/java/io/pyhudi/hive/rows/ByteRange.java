package io.pyhudi.hive.rows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FSDataInputStream;

/** Some bytes of a file. */
final class ByteRange {
  private final long start;
  private final int length;

  ByteRange(long start, long length) {
    this.start = start;
    this.length = Math.toIntExact(length);
  }

  long start() {
    return start;
  }

  int length() {
    return length;
  }

  long end() {
    return start + length;
  }

  /**
   * Fetches ranges of a file, adjacent and close ones by one request.
   *
   * @param gap so many bytes are rather read than skipped
   */
  static Map<ByteRange, ByteBuffer> fetch(FSDataInputStream file, List<ByteRange> ranges, int gap)
      throws IOException {
    List<ByteRange> sorted = new ArrayList<>(ranges);
    sorted.sort(Comparator.comparingLong(ByteRange::start));
    Map<ByteRange, ByteBuffer> fetched = new HashMap<>();
    for (int first = 0, next; first < sorted.size(); first = next) {
      long end = sorted.get(first).end();
      next = first + 1;
      while (next < sorted.size() && sorted.get(next).start() <= end + gap) {
        end = Math.max(end, sorted.get(next++).end());
      }
      long start = sorted.get(first).start();
      byte[] bytes = new byte[Math.toIntExact(end - start)];
      file.readFully(start, bytes);
      for (ByteRange range : sorted.subList(first, next)) {
        fetched.put(range, part(bytes, (int) (range.start() - start), range.length()));
      }
    }
    return fetched;
  }

  private static ByteBuffer part(byte[] bytes, int start, int length) {
    return ByteBuffer.wrap(bytes, start, length).slice();
  }
}
