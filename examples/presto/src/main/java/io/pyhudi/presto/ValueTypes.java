package io.pyhudi.presto;

import static com.facebook.presto.common.type.Decimals.decodeUnscaledValue;

import com.facebook.presto.common.type.BigintType;
import com.facebook.presto.common.type.BooleanType;
import com.facebook.presto.common.type.DateType;
import com.facebook.presto.common.type.DecimalType;
import com.facebook.presto.common.type.DoubleType;
import com.facebook.presto.common.type.IntegerType;
import com.facebook.presto.common.type.RealType;
import com.facebook.presto.common.type.TimestampType;
import com.facebook.presto.common.type.Type;
import com.facebook.presto.common.type.VarcharType;
import io.airlift.slice.Slice;
import io.pyhudi.connector.ColumnType;
import io.pyhudi.connector.Literals;
import io.pyhudi.hive.protocol.Literal;
import java.math.BigInteger;
import java.util.Optional;
import java.util.function.Function;

/** Presto's types. Its values are those of its {@code Block}s. */
final class ValueTypes {
  private ValueTypes() {}

  /**
   * Returns how values of a type are written. Empty if the values that Presto shows may differ from
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
    if (type instanceof VarcharType && ((VarcharType) type).isUnbounded()) {
      return exact("string", value -> Literals.text(((Slice) value).toStringUtf8()));
    }
    if (type instanceof DateType) {
      return exact("date", value -> Literals.date((long) value));
    }
    if (type.equals(TimestampType.TIMESTAMP)) {
      return Optional.of(
          ColumnType.milliseconds(millis -> Math.multiplyExact((long) millis, 1_000)));
    }
    return type instanceof DecimalType
        ? Optional.of(decimal((DecimalType) type))
        : Optional.empty();
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
              type.isShort()
                  ? BigInteger.valueOf((long) value)
                  : decodeUnscaledValue((Slice) value);
          return Literals.decimal(name, unscaled, type.getScale());
        });
  }
}
