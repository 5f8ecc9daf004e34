package io.pyhudi.hive.read;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.function.Function;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericFixed;
import org.apache.hadoop.hive.common.type.HiveChar;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.common.type.HiveVarchar;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.serde2.io.ByteWritable;
import org.apache.hadoop.hive.serde2.io.DateWritableV2;
import org.apache.hadoop.hive.serde2.io.DoubleWritable;
import org.apache.hadoop.hive.serde2.io.HiveCharWritable;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.hadoop.hive.serde2.io.HiveVarcharWritable;
import org.apache.hadoop.hive.serde2.io.ShortWritable;
import org.apache.hadoop.hive.serde2.io.TimestampWritableV2;
import org.apache.hadoop.hive.serde2.typeinfo.CharTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.DecimalTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.VarcharTypeInfo;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;

/** Converters for primitive types; they widen as Hive does when it reads Parquet. */
final class PrimitiveConverters {
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private PrimitiveConverters() {}

  /**
   * @param schema the Avro schema of the values, not a union
   */
  static WritableConverter of(Schema schema, PrimitiveTypeInfo type) {
    switch (type.getPrimitiveCategory()) {
      case BOOLEAN:
        return value -> new BooleanWritable((Boolean) value);
      case BYTE:
        return integer(Byte.MIN_VALUE, Byte.MAX_VALUE, v -> new ByteWritable((byte) v));
      case SHORT:
        return integer(Short.MIN_VALUE, Short.MAX_VALUE, v -> new ShortWritable((short) v));
      case INT:
        return integer(Integer.MIN_VALUE, Integer.MAX_VALUE, v -> new IntWritable((int) v));
      case LONG:
        return value -> new LongWritable(((Number) value).longValue());
      case FLOAT:
        return value -> new FloatWritable(((Number) value).floatValue());
      case DOUBLE:
        return value -> new DoubleWritable(((Number) value).doubleValue());
      case STRING:
        return value -> new Text(text(value));
      case CHAR:
        int charLength = ((CharTypeInfo) type).getLength();
        return value -> new HiveCharWritable(new HiveChar(text(value), charLength));
      case VARCHAR:
        int varcharLength = ((VarcharTypeInfo) type).getLength();
        return value -> new HiveVarcharWritable(new HiveVarchar(text(value), varcharLength));
      case BINARY:
        return value -> new BytesWritable(bytes(value));
      case DATE:
        return value -> new DateWritableV2(((Number) value).intValue());
      case DECIMAL:
        return decimal(schema, (DecimalTypeInfo) type);
      case TIMESTAMP:
        return timestamp(schema);
      default:
        throw new UnsupportedOperationException("columns of type " + type + " cannot be read");
    }
  }

  @FunctionalInterface
  private interface LongToWritable {
    org.apache.hadoop.io.Writable apply(long value);
  }

  /** Returns null for a value out of range, as Hive's Parquet reader does. */
  private static WritableConverter integer(long min, long max, LongToWritable writable) {
    return value -> {
      long number = ((Number) value).longValue();
      return number < min || number > max ? null : writable.apply(number);
    };
  }

  private static String text(Object value) {
    return value instanceof ByteBuffer ? new Text(bytes(value)).toString() : value.toString();
  }

  private static byte[] bytes(Object value) {
    if (value instanceof GenericFixed) {
      return ((GenericFixed) value).bytes();
    }
    if (value instanceof CharSequence) {
      return new Text(value.toString()).copyBytes();
    }
    ByteBuffer buffer = ((ByteBuffer) value).duplicate();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private static WritableConverter decimal(Schema schema, DecimalTypeInfo type) {
    Function<Object, BigDecimal> number = number(schema);
    return value -> {
      HiveDecimal decimal =
          HiveDecimal.enforcePrecisionScale(
              HiveDecimal.create(number.apply(value)), type.precision(), type.scale());
      return decimal == null ? null : new HiveDecimalWritable(decimal);
    };
  }

  private static Function<Object, BigDecimal> number(Schema schema) {
    LogicalType logical = schema.getLogicalType();
    if (logical instanceof LogicalTypes.Decimal) {
      int scale = ((LogicalTypes.Decimal) logical).getScale();
      return value ->
          value instanceof BigDecimal
              ? (BigDecimal) value
              : new BigDecimal(new BigInteger(bytes(value)), scale);
    }
    return value -> new BigDecimal(value.toString());
  }

  /** Returns the same wall clock time as Hive 4's Parquet reader: instants in the JVM's zone. */
  private static WritableConverter timestamp(Schema schema) {
    String logical = schema.getLogicalType() == null ? "" : schema.getLogicalType().getName();
    ZoneId zone = logical.startsWith("local-") ? ZoneOffset.UTC : ZoneId.systemDefault();
    long perSecond = perSecond(logical);
    long nanos = NANOS_PER_SECOND / perSecond;
    return value -> {
      long count = ((Number) value).longValue();
      long second = Math.floorDiv(count, perSecond);
      int nano = (int) (Math.floorMod(count, perSecond) * nanos);
      int offset = zone.getRules().getOffset(Instant.ofEpochSecond(second)).getTotalSeconds();
      return new TimestampWritableV2(Timestamp.ofEpochSecond(second + offset, nano));
    };
  }

  private static long perSecond(String logical) {
    if (logical.endsWith("timestamp-millis")) {
      return 1_000;
    }
    if (logical.endsWith("timestamp-micros")) {
      return 1_000_000;
    }
    if (logical.endsWith("timestamp-nanos")) {
      return NANOS_PER_SECOND;
    }
    throw new UnsupportedOperationException(
        "the table has no timestamp where Hive declares one, but " + logical);
  }
}
