package io.pyhudi.connector;

import java.util.Optional;

/** A range of a column's values; an end that is absent has no bound. */
public final class ValueRange {
  final Optional<Bound> low;
  final Optional<Bound> high;

  public ValueRange(Optional<Bound> low, Optional<Bound> high) {
    this.low = low;
    this.high = high;
  }

  boolean isOneValue() {
    return low.isPresent() && high.isPresent() && low.get().value.equals(high.get().value);
  }
}
