package io.pyhudi.connector;

import io.pyhudi.hive.protocol.Literal;
import java.math.BigInteger;

/** Constants as the protocol has them. Types are named as in Hive. */
public final class Literals {
  private static final long MICROS = 1_000_000;

  private Literals() {}

  public static Literal bool(boolean value) {
    return new Literal("boolean").setBooleanValue(value);
  }

  /**
   * @param type int or bigint
   */
  public static Literal integer(String type, long value) {
    return new Literal(type).setIntegerValue(value);
  }

  /**
   * @param type float or double
   */
  public static Literal floating(String type, double value) {
    return new Literal(type).setDoubleValue(value);
  }

  public static Literal text(String value) {
    return new Literal("string").setStringValue(value);
  }

  /**
   * @param type decimal(p,s)
   */
  public static Literal decimal(String type, BigInteger unscaled, int scale) {
    return new Literal(type).setUnscaledValue(unscaled.toByteArray()).setScale(scale);
  }

  public static Literal date(long epochDays) {
    return new Literal("date").setEpochDays(Math.toIntExact(epochDays));
  }

  /**
   * @param epochMicros of the wall clock, since 1970-01-01 00:00
   */
  public static Literal timestamp(long epochMicros) {
    return new Literal("timestamp")
        .setEpochSeconds(Math.floorDiv(epochMicros, MICROS))
        .setNanos(Math.toIntExact(Math.floorMod(epochMicros, MICROS) * 1_000));
  }
}
