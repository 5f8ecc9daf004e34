package io.pyhudi.connector;

import io.pyhudi.hive.protocol.Literal;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** How an engine's values of a type are written for the service. */
public final class ColumnType {
  private static final long MILLISECOND = 1_000;

  private final String name;
  private final Function<Object, Literal> least;
  private final Function<Object, Literal> greatest;

  private ColumnType(
      String name, Function<Object, Literal> least, Function<Object, Literal> greatest) {
    this.name = name;
    this.least = least;
    this.greatest = greatest;
  }

  /**
   * @param name Hive's name of the type
   */
  public static ColumnType exact(String name, Function<Object, Literal> literal) {
    return new ColumnType(name, literal, literal);
  }

  /**
   * Times that the engine reads in milliseconds, rounded in either direction: the stored value is
   * less than one millisecond away.
   */
  public static ColumnType milliseconds(ToLongFunction<Object> epochMicros) {
    return new ColumnType(
        "timestamp",
        value -> Literals.timestamp(epochMicros.applyAsLong(value) - MILLISECOND),
        value -> Literals.timestamp(epochMicros.applyAsLong(value) + MILLISECOND));
  }

  public String name() {
    return name;
  }

  /** Returns the lower end of a range of stored values. */
  public Bound low(Object value, boolean inclusive) {
    return new Bound(least.apply(value), inclusive);
  }

  /** Returns the upper end of a range of stored values. */
  public Bound high(Object value, boolean inclusive) {
    return new Bound(greatest.apply(value), inclusive);
  }
}
