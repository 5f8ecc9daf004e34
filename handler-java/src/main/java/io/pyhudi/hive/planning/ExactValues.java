package io.pyhudi.hive.planning;

import io.pyhudi.hive.protocol.Literal;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Optional;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.serde2.io.ByteWritable;
import org.apache.hadoop.hive.serde2.io.DateWritableV2;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.hadoop.hive.serde2.io.ShortWritable;
import org.apache.hadoop.hive.serde2.io.TimestampWritableV2;
import org.apache.hadoop.hive.serde2.typeinfo.DecimalTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;

/**
 * Converts constants of the protocol to values of Hive's Parquet rows.
 *
 * <p>The minimum of the stored values must be the minimum of the values that Hive reads for them.
 * So only values whose order Hive's readers preserve are converted: none beyond the type's range,
 * none before the Gregorian calendar, and no instants in a time zone whose clocks are ever set
 * back.
 */
final class ExactValues {
  /** The first day of the Gregorian calendar, where it replaces the Julian one. */
  private static final long FIRST_DAY = LocalDate.of(1582, 10, 15).toEpochDay();

  private static final long SECONDS_PER_DAY = 86_400;

  private ExactValues() {}

  /**
   * Returns the value that a reader returns for the constant in a column of the type, if that is
   * certain.
   */
  static Optional<Writable> of(Literal value, TypeInfo type) {
    return value != null && type instanceof PrimitiveTypeInfo
        ? Optional.ofNullable(value(value, (PrimitiveTypeInfo) type))
        : Optional.empty();
  }

  private static Writable value(Literal value, PrimitiveTypeInfo type) {
    long number = value.getIntegerValue();
    switch (type.getPrimitiveCategory()) {
      case BOOLEAN:
        return value.isSetBooleanValue() ? new BooleanWritable(value.isBooleanValue()) : null;
      case BYTE:
        return isInteger(value) && number == (byte) number ? new ByteWritable((byte) number) : null;
      case SHORT:
        return isInteger(value) && number == (short) number
            ? new ShortWritable((short) number)
            : null;
      case INT:
        return isInteger(value) && number == (int) number ? new IntWritable((int) number) : null;
      case LONG:
        return isInteger(value) ? new LongWritable(number) : null;
      case DATE:
        return value.isSetEpochDays() && value.getEpochDays() >= FIRST_DAY
            ? new DateWritableV2(value.getEpochDays())
            : null;
      case TIMESTAMP:
        return value.isSetEpochSeconds() ? timestamp(value) : null;
      case DECIMAL:
        return value.isSetUnscaledValue() ? decimal(value, (DecimalTypeInfo) type) : null;
      case STRING:
        return value.isSetStringValue() ? new Text(value.getStringValue()) : null;
      default:
        return null;
    }
  }

  private static boolean isInteger(Literal value) {
    return value.isSetIntegerValue();
  }

  private static Writable decimal(Literal value, DecimalTypeInfo type) {
    BigInteger unscaled = new BigInteger(value.getUnscaledValue());
    HiveDecimal exact = HiveDecimal.create(new BigDecimal(unscaled, value.getScale()));
    HiveDecimal read = HiveDecimal.enforcePrecisionScale(exact, type.precision(), type.scale());
    return read != null && read.equals(exact) ? new HiveDecimalWritable(read) : null;
  }

  /** Returns the same wall clock time as Hive's readers: instants in the JVM's zone. */
  private static Writable timestamp(Literal value) {
    boolean isInstant = value.getType().contains("zone");
    ZoneId zone = isInstant ? ZoneId.systemDefault() : ZoneOffset.UTC;
    boolean isOld = value.getEpochSeconds() < FIRST_DAY * SECONDS_PER_DAY;
    if (isOld || !zone.getRules().isFixedOffset()) {
      return null;
    }
    int offset = zone.getRules().getOffset(Instant.EPOCH).getTotalSeconds();
    return new TimestampWritableV2(
        Timestamp.ofEpochSecond(value.getEpochSeconds() + offset, value.getNanos()));
  }
}
