package io.pyhudi.hive.rows;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.io.WritableUtils;

/** Rows, counted from 0, as ranges that are not empty, ascend and do not touch. */
public final class RowRanges {
  private final long[] starts;
  private final long[] ends;

  private RowRanges(long[] starts, long[] ends) {
    this.starts = starts;
    this.ends = ends;
  }

  /**
   * @param starts the first row of each range
   * @param ends the first row behind each range
   * @throws IllegalArgumentException if these are no such ranges
   */
  public static RowRanges of(long[] starts, long[] ends) {
    boolean isValid = starts.length == ends.length;
    for (int i = 0; isValid && i < starts.length; i++) {
      isValid = starts[i] < ends[i] && (i == 0 ? starts[i] >= 0 : starts[i] > ends[i - 1]);
    }
    if (!isValid) {
      throw new IllegalArgumentException(
          "no ranges of rows: " + Arrays.toString(starts) + " to " + Arrays.toString(ends));
    }
    return new RowRanges(starts, ends);
  }

  /** Returns the rows of [start, end). */
  public static RowRanges between(long start, long end) {
    Collector all = new Collector();
    all.add(start, end);
    return all.ranges();
  }

  public boolean isEmpty() {
    return starts.length == 0;
  }

  /** Returns the number of rows. */
  public long count() {
    return Arrays.stream(ends).sum() - Arrays.stream(starts).sum();
  }

  /** Returns the first row behind the last range; 0 if there is none. */
  public long end() {
    return isEmpty() ? 0 : ends[ends.length - 1];
  }

  /** Returns the rows that are also in [first, end), counted from {@code first}. */
  public RowRanges within(long first, long end) {
    return clipped(first, end, first);
  }

  /** Returns the rows that are also in [first, end), with their own numbers. */
  public RowRanges intersect(long first, long end) {
    return clipped(first, end, 0);
  }

  private RowRanges clipped(long first, long end, long origin) {
    int from = Arrays.binarySearch(ends, first);
    from = from < 0 ? -from - 1 : from + 1;
    int to = Arrays.binarySearch(starts, end);
    to = Math.max(from, to < 0 ? -to - 1 : to);
    long[] clippedStarts = Arrays.copyOfRange(starts, from, to);
    long[] clippedEnds = Arrays.copyOfRange(ends, from, to);
    for (int i = 0; i < clippedStarts.length; i++) {
      clippedStarts[i] = Math.max(clippedStarts[i], first) - origin;
      clippedEnds[i] = Math.min(clippedEnds[i], end) - origin;
    }
    return new RowRanges(clippedStarts, clippedEnds);
  }

  /** Returns these rows and others. */
  public RowRanges with(RowRanges other) {
    Collector all = new Collector();
    long last = 0;
    int next = 0;
    int nextOther = 0;
    while (next < starts.length || nextOther < other.starts.length) {
      boolean isOwn =
          nextOther == other.starts.length
              || next < starts.length && starts[next] <= other.starts[nextOther];
      long start = Math.max(last, isOwn ? starts[next] : other.starts[nextOther]);
      last = Math.max(start, isOwn ? ends[next++] : other.ends[nextOther++]);
      all.add(start, last);
    }
    return all.ranges();
  }

  /** Returns whether the ranges contain each row of [first, end). */
  public boolean covers(long first, long end) {
    return intersect(first, end).count() == end - first;
  }

  /** Returns the places of other rows among these: 0 is that of the first of these rows. */
  public RowRanges places(RowRanges other) {
    Collector places = new Collector();
    long passed = 0;
    for (int i = 0; i < starts.length; i++) {
      other.clipped(starts[i], ends[i], starts[i] - passed).addTo(places);
      passed += ends[i] - starts[i];
    }
    return places.ranges();
  }

  /** Adds these rows to others, all of which are before them. */
  void addTo(Collector others) {
    for (int i = 0; i < starts.length; i++) {
      others.add(starts[i], ends[i]);
    }
  }

  /** Collects rows in their order. */
  public static final class Collector {
    private long[] starts = new long[8];
    private long[] ends = new long[8];
    private int count;

    /**
     * Adds the rows of [start, end), if any.
     *
     * @param start not before the end of the rows that were added last
     */
    public void add(long start, long end) {
      if (start == end) {
        return;
      }
      if (count > 0 && ends[count - 1] == start) {
        ends[count - 1] = end;
        return;
      }
      if (count == starts.length) {
        starts = Arrays.copyOf(starts, 2 * count);
        ends = Arrays.copyOf(ends, 2 * count);
      }
      starts[count] = start;
      ends[count++] = end;
    }

    public RowRanges ranges() {
      return RowRanges.of(Arrays.copyOf(starts, count), Arrays.copyOf(ends, count));
    }
  }

  /** Iterates over rows in their order, and tells which are in the ranges. */
  public Cursor cursor() {
    return new Cursor();
  }

  /** Iterates over rows in their order. */
  public final class Cursor {
    private int range;

    /**
     * @param row not before the row of the last call
     */
    public boolean contains(long row) {
      while (range < ends.length && ends[range] <= row) {
        range++;
      }
      return range < starts.length && starts[range] <= row;
    }
  }

  /** Writes the distances between the bounds. */
  void write(DataOutput out) throws IOException {
    WritableUtils.writeVInt(out, starts.length);
    long last = 0;
    for (int i = 0; i < starts.length; i++) {
      WritableUtils.writeVLong(out, starts[i] - last);
      WritableUtils.writeVLong(out, ends[i] - starts[i]);
      last = ends[i];
    }
  }

  static RowRanges read(DataInput in) throws IOException {
    long[] starts = new long[WritableUtils.readVInt(in)];
    long[] ends = new long[starts.length];
    long last = 0;
    for (int i = 0; i < starts.length; i++) {
      starts[i] = last + WritableUtils.readVLong(in);
      ends[i] = starts[i] + WritableUtils.readVLong(in);
      last = ends[i];
    }
    return new RowRanges(starts, ends);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RowRanges
        && Arrays.equals(((RowRanges) other).starts, starts)
        && Arrays.equals(((RowRanges) other).ends, ends);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(starts) + Arrays.hashCode(ends);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < starts.length; i++) {
      text.append('[').append(starts[i]).append(", ").append(ends[i]).append(')');
    }
    return text.toString();
  }
}
