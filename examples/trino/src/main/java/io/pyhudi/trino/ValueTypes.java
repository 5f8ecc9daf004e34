package io.pyhudi.trino;

import io.airlift.slice.Slice;
import io.pyhudi.connector.ColumnType;
import io.pyhudi.connector.Literals;
import io.pyhudi.hive.protocol.Literal;
import io.trino.spi.type.BigintType;
import io.trino.spi.type.BooleanType;
import io.trino.spi.type.DateType;
import io.trino.spi.type.DecimalType;
import io.trino.spi.type.DoubleType;
import io.trino.spi.type.Int128;
import io.trino.spi.type.IntegerType;
import io.trino.spi.type.RealType;
import io.trino.spi.type.TimestampType;
import io.trino.spi.type.Type;
import io.trino.spi.type.VarcharType;
import java.math.BigInteger;
import java.util.Optional;
import java.util.function.Function;

/** Trino's types. Its values are those of its domains. */
final class ValueTypes {
  private ValueTypes() {}

  /**
   * Returns how values of a type are written. Empty if the values that Trino shows may differ from
   * the stored ones: it cuts texts to the length of {@code varchar(n)}, say.
   */
  static Optional<ColumnType> of(Type type) {
    if (type instanceof BooleanType) {
      return exact("boolean", value -> Literals.bool((boolean) value));
    }
    if (type instanceof IntegerType) {
      return exact("int", value -> Literals.integer("int", (long) value));
    }
    if (type instanceof BigintType) {
      return exact("bigint", value -> Literals.integer("bigint", (long) value));
    }
    if (type instanceof RealType) {
      return exact(
          "float",
          bits -> Literals.floating("float", Float.intBitsToFloat(Math.toIntExact((long) bits))));
    }
    if (type instanceof DoubleType) {
      return exact("double", value -> Literals.floating("double", (double) value));
    }
    if (type instanceof VarcharType text && text.isUnbounded()) {
      return exact("string", value -> Literals.text(((Slice) value).toStringUtf8()));
    }
    if (type instanceof DateType) {
      return exact("date", value -> Literals.date((long) value));
    }
    if (type.equals(TimestampType.TIMESTAMP_MILLIS)) {
      return Optional.of(ColumnType.milliseconds(micros -> (long) micros));
    }
    if (type.equals(TimestampType.TIMESTAMP_MICROS)) {
      return exact("timestamp", micros -> Literals.timestamp((long) micros));
    }
    return type instanceof DecimalType decimal ? Optional.of(decimal(decimal)) : Optional.empty();
  }

  private static Optional<ColumnType> exact(String name, Function<Object, Literal> literal) {
    return Optional.of(ColumnType.exact(name, literal));
  }

  private static ColumnType decimal(DecimalType type) {
    String name = "decimal(" + type.getPrecision() + "," + type.getScale() + ")";
    return ColumnType.exact(
        name,
        value -> {
          BigInteger unscaled =
              type.isShort() ? BigInteger.valueOf((long) value) : ((Int128) value).toBigInteger();
          return Literals.decimal(name, unscaled, type.getScale());
        });
  }
}
