package io.pyhudi.hive.predicate;

import io.pyhudi.hive.protocol.Keys;
import io.pyhudi.hive.protocol.Literal;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector.PrimitiveCategory;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;

/**
 * The constants of a long IN, usually the keys of a join's other side: sorted, without duplicates,
 * numbers in ranges. A service reads a hundred thousand of them in milliseconds, where literals
 * take it seconds.
 */
final class KeyList {
  /** Shorter lists are sent as literals, which older services evaluate, too. */
  static final int LEAST = 256;

  /** More ranges than this are joined where the gaps between them are smallest. */
  static final int MOST_RANGES = 250_000;

  /** Services accept 8 MB for a whole request by default. */
  static final int MOST_BYTES = 6 << 20;

  private static final long NANOS = 1_000_000_000L;

  /** Of times; the services' limit, days before the ends of what a long holds. */
  private static final long MOST_NANOS = 9_221_000_000_000_000_000L;

  private static final Set<PrimitiveCategory> TYPES =
      EnumSet.of(
          PrimitiveCategory.BYTE,
          PrimitiveCategory.SHORT,
          PrimitiveCategory.INT,
          PrimitiveCategory.LONG,
          PrimitiveCategory.DATE,
          PrimitiveCategory.TIMESTAMP,
          PrimitiveCategory.STRING);

  private final Keys keys;

  private KeyList(Keys keys) {
    this.keys = keys;
  }

  /**
   * Returns the constants of an IN.
   *
   * @param options what the column is compared with
   * @param type the column's type
   * @return null if they have to be literals: because they are few, not constants of this type, or
   *     times that a long does not hold
   * @throws InexpressibleException if they are more than a request holds
   */
  static KeyList of(List<ExprNodeDesc> options, TypeInfo type) throws InexpressibleException {
    if (options.size() < LEAST
        || !(type instanceof PrimitiveTypeInfo)
        || !TYPES.contains(((PrimitiveTypeInfo) type).getPrimitiveCategory())) {
      return null;
    }
    Literal[] literals = new Literal[options.size()];
    int given = 0;
    for (ExprNodeDesc option : options) {
      if (!(option instanceof ExprNodeConstantDesc) || !option.getTypeInfo().equals(type)) {
        return null;
      }
      Object value = ((ExprNodeConstantDesc) option).getValue();
      if (value != null) {
        literals[given++] = Literals.of(value, type);
      }
    }
    Keys keys = new Keys().setType(type.getTypeName());
    if (given < literals.length) {
      keys.setHasNull(true);
    }
    Literal[] values = Arrays.copyOf(literals, given);
    if (((PrimitiveTypeInfo) type).getPrimitiveCategory() == PrimitiveCategory.STRING) {
      setTexts(keys, values);
      return new KeyList(keys);
    }
    long[] numbers = numbers(values);
    if (numbers == null) {
      return null;
    }
    setRanges(keys, numbers, MOST_RANGES);
    return new KeyList(keys);
  }

  /** Returns the keys as they are sent. */
  Keys toThrift() {
    return keys.deepCopy();
  }

  /** Returns the number of keys. */
  long count() {
    return keys.getCount();
  }

  private static long[] numbers(Literal[] literals) {
    long[] numbers = new long[literals.length];
    for (int i = 0; i < literals.length; i++) {
      Literal literal = literals[i];
      if (literal.isSetIntegerValue()) {
        numbers[i] = literal.getIntegerValue();
      } else if (literal.isSetEpochDays()) {
        numbers[i] = literal.getEpochDays();
      } else if (Math.abs(literal.getEpochSeconds()) < MOST_NANOS / NANOS) {
        numbers[i] = literal.getEpochSeconds() * NANOS + literal.getNanos();
      } else {
        return null;
      }
    }
    return numbers;
  }

  /**
   * Sets the ranges of the numbers. Values that follow each other are one range, which loses
   * nothing.
   *
   * @param mostRanges ranges beyond this are joined, which adds the values between them
   */
  static void setRanges(Keys keys, long[] numbers, int mostRanges) {
    Arrays.sort(numbers);
    long[] starts = new long[numbers.length];
    long[] ends = new long[numbers.length];
    int ranges = 0;
    int distinct = 0;
    for (int i = 0; i < numbers.length; i++) {
      if (i > 0 && numbers[i] == numbers[i - 1]) {
        continue;
      }
      distinct++;
      if (ranges == 0 || numbers[i] - 1 != ends[ranges - 1]) {
        starts[ranges++] = numbers[i];
      }
      ends[ranges - 1] = numbers[i];
    }
    keys.setCount(distinct);
    int left = ranges <= mostRanges ? ranges : join(starts, ends, ranges, mostRanges);
    keys.setStarts(packed(starts, left));
    if (left < distinct) {
      keys.setEnds(packed(ends, left));
    }
  }

  /** Joins ranges over their smallest gaps, in place; returns how many are left. */
  private static int join(long[] starts, long[] ends, int ranges, int most) {
    long[] gaps = new long[ranges - 1];
    for (int i = 0; i < gaps.length; i++) {
      long gap = starts[i + 1] - ends[i];
      gaps[i] = gap > 0 ? gap : Long.MAX_VALUE;
    }
    long[] sorted = gaps.clone();
    Arrays.sort(sorted);
    long widest = sorted[ranges - most - 1];
    int left = 1;
    for (int i = 0; i < gaps.length; i++) {
      if (gaps[i] > widest) {
        starts[left++] = starts[i + 1];
      }
      ends[left - 1] = ends[i + 1];
    }
    return left;
  }

  private static void setTexts(Keys keys, Literal[] literals) throws InexpressibleException {
    byte[][] texts = new byte[literals.length][];
    for (int i = 0; i < literals.length; i++) {
      texts[i] = literals[i].getStringValue().getBytes(StandardCharsets.UTF_8);
    }
    Arrays.sort(texts, KeyList::compareUnsigned);
    ByteArrayOutputStream joined = new ByteArrayOutputStream();
    long[] ends = new long[texts.length];
    int distinct = 0;
    for (int i = 0; i < texts.length; i++) {
      if (i == 0 || !Arrays.equals(texts[i], texts[i - 1])) {
        joined.write(texts[i], 0, texts[i].length);
        ends[distinct++] = joined.size();
        if (joined.size() + (long) distinct * Long.BYTES > MOST_BYTES) {
          throw new InexpressibleException("more keys than a request holds");
        }
      }
    }
    keys.setCount(distinct).setTexts(joined.toByteArray()).setTextEnds(packed(ends, distinct));
  }

  private static int compareUnsigned(byte[] left, byte[] right) {
    for (int i = 0; i < Math.min(left.length, right.length); i++) {
      if (left[i] != right[i]) {
        return (left[i] & 0xff) - (right[i] & 0xff);
      }
    }
    return left.length - right.length;
  }

  private static byte[] packed(long[] numbers, int count) {
    ByteBuffer packed = ByteBuffer.allocate(count * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    packed.asLongBuffer().put(numbers, 0, count);
    return packed.array();
  }
}
