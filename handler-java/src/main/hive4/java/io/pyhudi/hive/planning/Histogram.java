package io.pyhudi.hive.planning;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A column's values as Hive's planner takes them: a KLL sketch (of Apache DataSketches, in its
 * serial version 1), of values that lie evenly between the column's ends.
 *
 * <p>Without one Hive takes the two ends of a range for independent of each other, so a month of
 * two hundred years for a quarter of them. It then reads such a dimension as the large side of a
 * join, and the fact beside it, which no key can restrict there, as the small one. Of large tables
 * Hive keeps its own estimate: it is too high rather than too low, which could take more memory
 * than there is.
 */
final class Histogram {
  /** Rows of the tables that have one. */
  static final long MOST_ROWS = 1_000_000;

  private static final byte SERIAL_VERSION = 1;
  private static final byte FULL_PREAMBLE = 5;
  private static final byte FAMILY = 15;
  private static final byte NO_FLAGS = 0;
  private static final byte LEAST_CAPACITY = 8;

  /** The parameter K: the items of the last level, which stand for most of the values. */
  private static final int LEVEL = 8192;

  private static final int PREAMBLE_BYTES = 20;

  private Histogram() {}

  /** A value by its share of the values before it, from 0 to 1, exclusively. */
  interface Values {
    double at(double share);
  }

  /** Returns the sketch of whole numbers, multiplied by a unit; null if there should be none. */
  static byte[] ofNumbers(long least, long greatest, long unit, long rows) {
    double width = (double) greatest - least + 1;
    return of(share -> (least + Math.floor(share * width)) * unit, rows);
  }

  /** Returns the sketch of any numbers. */
  static byte[] ofRange(double least, double greatest, long rows) {
    return of(share -> least + share * (greatest - least), rows);
  }

  /**
   * Returns the sketch of so many values. An item of a level stands for twice as many values as one
   * of the level before it: the last level has the upper bits of their number, each other level one
   * item if its bit is set.
   */
  private static byte[] of(Values values, long rows) {
    if (rows <= 1 || rows > MOST_ROWS) {
      return null;
    }
    int last = 0;
    while (rows >> last >= LEVEL) {
      last++;
    }
    int levels = last + 1;
    int ofLast = (int) (rows >> last);
    int others = Long.bitCount(rows & ((1L << last) - 1));
    ByteBuffer out =
        ByteBuffer.allocate(
                PREAMBLE_BYTES + levels * Integer.BYTES + (2 + others + ofLast) * Float.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    out.put(FULL_PREAMBLE).put(SERIAL_VERSION).put(FAMILY).put(NO_FLAGS);
    out.putShort((short) LEVEL).put(LEAST_CAPACITY).put((byte) 0);
    out.putLong(rows).putShort((short) LEVEL).put((byte) levels).put((byte) 0);
    int start = capacity(levels) - others - ofLast;
    for (int level = 0; level < levels; level++) {
      out.putInt(start);
      start += (rows >> level & 1) == 1 ? 1 : 0;
    }
    out.putFloat((float) values.at(0)).putFloat((float) values.at(Math.nextDown(1.0)));
    for (int i = 0; i < others; i++) {
      out.putFloat((float) values.at((i + 0.5) / others));
    }
    for (int i = 0; i < ofLast; i++) {
      out.putFloat((float) values.at((i + 0.5) / ofLast));
    }
    return out.array();
  }

  /** Returns how many items fit into all levels: in each two thirds of those of the next one. */
  private static int capacity(int levels) {
    int capacity = 0;
    long powerOfThree = 1;
    for (int depth = 0; depth < levels; depth++) {
      long twice = ((long) LEVEL << 1 << depth) / powerOfThree;
      capacity += (int) Math.max(LEAST_CAPACITY, twice + 1 >>> 1);
      powerOfThree *= 3;
    }
    return capacity;
  }
}
