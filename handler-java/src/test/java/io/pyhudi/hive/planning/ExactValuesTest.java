package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.pyhudi.hive.protocol.Literal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.util.Optional;
import java.util.TimeZone;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
import org.apache.hadoop.io.Writable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ExactValuesTest {
  private static final TimeZone ZONE = TimeZone.getDefault();

  @AfterEach
  void resetZone() {
    TimeZone.setDefault(ZONE);
  }

  private static Optional<Writable> value(String type, Literal literal) {
    return ExactValues.of(literal, TypeInfoUtils.getTypeInfoFromTypeString(type));
  }

  private static void assertValue(String expected, String type, Literal literal) {
    assertEquals(Optional.of(expected), value(type, literal).map(Object::toString));
  }

  private static Literal integer(long number) {
    return new Literal("bigint").setIntegerValue(number);
  }

  private static Literal date(String text) {
    return new Literal("date").setEpochDays((int) LocalDate.parse(text).toEpochDay());
  }

  private static Literal decimal(long unscaled, int scale) {
    return new Literal("decimal(18," + scale + ")")
        .setUnscaledValue(BigInteger.valueOf(unscaled).toByteArray())
        .setScale(scale);
  }

  private static Literal timestamp(String type, long seconds) {
    return new Literal(type).setEpochSeconds(seconds).setNanos(500_000_000);
  }

  @Test
  void valuesEqualThoseOfReaders() {
    assertValue("true", "boolean", new Literal("boolean").setBooleanValue(true));
    for (String type : new String[] {"tinyint", "smallint", "int", "bigint"}) {
      assertValue("-128", type, integer(-128));
    }
    assertValue("2024-01-15", "date", date("2024-01-15"));
    assertValue("-1.5", "decimal(10,2)", decimal(-150, 2));
    assertValue("é", "string", new Literal("string").setStringValue("é"));
    assertValue("1970-01-02 00:00:00.5", "timestamp", timestamp("timestamp", 86_400));
  }

  @Test
  void instantsAreWallClocksOfTheZone() {
    Literal instant = timestamp("timestamp with local time zone", 86_400);
    TimeZone.setDefault(TimeZone.getTimeZone("GMT+05:30"));
    assertValue("1970-01-02 05:30:00.5", "timestamp", instant);
    assertValue("1970-01-02 00:00:00.5", "timestamp", timestamp("timestamp", 86_400));
  }

  @Test
  void whereAZoneSetsItsClocksBackInstantsHaveAnotherOrder() {
    TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
    assertFalse(value("timestamp", timestamp("timestamp with local time zone", 0)).isPresent());
    assertValue("1970-01-01 00:00:00.5", "timestamp", timestamp("timestamp", 0));
  }

  @Test
  void ambiguousValuesAreNotConverted() {
    assertFalse(value("tinyint", integer(128)).isPresent());
    assertFalse(value("smallint", integer(-32_769)).isPresent());
    assertFalse(value("int", integer(1L << 31)).isPresent());
    assertFalse(value("date", date("1582-10-14")).isPresent());
    assertFalse(value("timestamp", timestamp("timestamp", -12_219_292_801L)).isPresent());
    assertFalse(value("decimal(3,1)", decimal(125, 2)).isPresent());
    assertFalse(value("decimal(3,1)", decimal(1_000, 1)).isPresent());
    assertFalse(value("char(3)", new Literal("string").setStringValue("abcd")).isPresent());
    assertFalse(value("double", new Literal("double").setDoubleValue(1)).isPresent());
    assertFalse(value("string", integer(1)).isPresent());
    assertFalse(value("bigint", new Literal("bigint")).isPresent());
    assertFalse(value("bigint", null).isPresent());
    assertFalse(value("array<int>", integer(1)).isPresent());
  }
}
