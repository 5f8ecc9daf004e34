package io.pyhudi.hive.predicate;

import io.pyhudi.hive.protocol.Literal;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.hive.common.type.Date;
import org.apache.hadoop.hive.common.type.HiveChar;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.common.type.HiveVarchar;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.common.type.TimestampTZ;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector.PrimitiveCategory;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.BytesWritable;

/** Converts Hive's constants to typed, exact literals. */
final class Literals {
  private static final long EXACT_DOUBLE = 1L << 53;

  /** The services' limit for one text or binary constant, in bytes of UTF-8. */
  private static final int MAX_BYTES = 1 << 16;

  private Literals() {}

  /**
   * Converts a constant of an expression.
   *
   * @param value as Hive keeps it in a constant's description; null for a typed null
   */
  static Literal of(Object value, TypeInfo type) throws InexpressibleException {
    Literal literal = new Literal(type.getTypeName());
    if (value == null) {
      return literal;
    }
    if (!(type instanceof PrimitiveTypeInfo)) {
      throw new InexpressibleException("a constant of type " + type.getTypeName());
    }
    try {
      set(literal, ((PrimitiveTypeInfo) type).getPrimitiveCategory(), value);
      if (isTooLong(literal)) {
        throw new InexpressibleException("a constant of more than " + MAX_BYTES + " bytes");
      }
    } catch (ClassCastException | ArithmeticException e) {
      throw new InexpressibleException(value.getClass() + " for " + type.getTypeName());
    }
    return literal;
  }

  private static void set(Literal literal, PrimitiveCategory category, Object value)
      throws InexpressibleException {
    switch (category) {
      case BOOLEAN:
        literal.setBooleanValue((Boolean) value);
        break;
      case BYTE:
      case SHORT:
      case INT:
      case LONG:
        literal.setIntegerValue(integer(value));
        break;
      case FLOAT:
      case DOUBLE:
        literal.setDoubleValue(((Number) value).doubleValue());
        break;
      case DECIMAL:
        setDecimal(literal, decimal(value));
        break;
      case STRING:
        literal.setStringValue((String) value);
        break;
      case VARCHAR:
        literal.setStringValue(
            value instanceof HiveVarchar ? ((HiveVarchar) value).getValue() : (String) value);
        break;
      case CHAR:
        literal.setStringValue(
            value instanceof HiveChar ? ((HiveChar) value).getStrippedValue() : (String) value);
        break;
      case BINARY:
        literal.setBinaryValue(ByteBuffer.wrap(bytes(value)));
        break;
      case DATE:
        literal.setEpochDays(((Date) value).toEpochDay());
        break;
      case TIMESTAMP:
        literal.setEpochSeconds(((Timestamp) value).toEpochSecond());
        literal.setNanos(((Timestamp) value).getNanos());
        break;
      case TIMESTAMPLOCALTZ:
        literal.setEpochSeconds(((TimestampTZ) value).getEpochSecond());
        literal.setNanos(((TimestampTZ) value).getNanos());
        break;
      default:
        throw new InexpressibleException("a constant of type " + category);
    }
  }

  private static boolean isTooLong(Literal literal) {
    return literal.isSetStringValue()
            && literal.getStringValue().getBytes(StandardCharsets.UTF_8).length > MAX_BYTES
        || literal.isSetBinaryValue() && literal.getBinaryValue().length > MAX_BYTES;
  }

  private static long integer(Object value) {
    if (value instanceof HiveDecimal) {
      return ((HiveDecimal) value).bigDecimalValue().longValueExact();
    }
    if (value instanceof Double || value instanceof Float) {
      throw new ArithmeticException("not an integer");
    }
    return ((Number) value).longValue();
  }

  private static BigDecimal decimal(Object value) {
    return value instanceof HiveDecimal
        ? ((HiveDecimal) value).bigDecimalValue()
        : (BigDecimal) value;
  }

  private static byte[] bytes(Object value) {
    return value instanceof BytesWritable ? ((BytesWritable) value).copyBytes() : (byte[]) value;
  }

  private static void setDecimal(Literal literal, BigDecimal value) {
    literal.setUnscaledValue(ByteBuffer.wrap(value.unscaledValue().toByteArray()));
    literal.setScale(value.scale());
  }

  /**
   * Converts a numeric literal to the same number of another type.
   *
   * @return null if the other type cannot hold exactly what Hive would compare with
   */
  static Literal widen(Literal literal, PrimitiveTypeInfo type) {
    Literal widened = new Literal(type.getTypeName());
    BigDecimal number = number(literal);
    if (number == null) {
      return null;
    }
    switch (type.getPrimitiveCategory()) {
      case SHORT:
      case INT:
      case LONG:
        return literal.isSetIntegerValue()
            ? widened.setIntegerValue(literal.getIntegerValue())
            : null;
      case DECIMAL:
        setDecimal(widened, number);
        return widened;
      case DOUBLE:
        if (literal.isSetIntegerValue() && Math.abs(literal.getIntegerValue()) > EXACT_DOUBLE
            || isRounded(number)) {
          return null;
        }
        return widened.setDoubleValue(number.doubleValue());
      default:
        return null;
    }
  }

  /** Whether Hive's vectors, which convert a decimal constant to decimal(38,18), change it. */
  private static boolean isRounded(BigDecimal number) {
    BigDecimal shortest = number.stripTrailingZeros();
    return shortest.scale() > HiveDecimal.SYSTEM_DEFAULT_SCALE
        || shortest.precision() - shortest.scale()
            > HiveDecimal.SYSTEM_DEFAULT_PRECISION - HiveDecimal.SYSTEM_DEFAULT_SCALE;
  }

  private static BigDecimal number(Literal literal) {
    if (literal.isSetIntegerValue()) {
      return BigDecimal.valueOf(literal.getIntegerValue());
    }
    if (literal.isSetUnscaledValue()) {
      return new BigDecimal(new BigInteger(literal.getUnscaledValue()), literal.getScale());
    }
    return null;
  }
}
