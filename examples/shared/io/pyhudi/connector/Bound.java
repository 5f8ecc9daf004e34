package io.pyhudi.connector;

import io.pyhudi.hive.protocol.Literal;

/** One end of a range: the value, and whether it belongs to the range. */
public final class Bound {
  final Literal value;
  final boolean inclusive;

  public Bound(Literal value, boolean inclusive) {
    this.value = value;
    this.inclusive = inclusive;
  }
}
