package io.pyhudi.hive.client;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Remembers which addresses fail, so that a dead service costs the time-out a few times and not
 * once for each query.
 */
final class CircuitBreaker {
  private static final int FAILURES_TO_OPEN = 3;

  private static final class State {
    final int failures;
    final long closedAtNanos;

    State(int failures, long closedAtNanos) {
      this.failures = failures;
      this.closedAtNanos = closedAtNanos;
    }
  }

  private final ConcurrentHashMap<ServiceAddress, State> states = new ConcurrentHashMap<>();
  private final LongSupplier clock;

  /**
   * @param clock nanoseconds, as of System.nanoTime
   */
  CircuitBreaker(LongSupplier clock) {
    this.clock = clock;
  }

  boolean allows(ServiceAddress address) {
    State state = states.get(address);
    return state == null
        || state.failures < FAILURES_TO_OPEN
        || clock.getAsLong() - state.closedAtNanos >= 0;
  }

  void succeeded(ServiceAddress address) {
    states.remove(address);
  }

  /**
   * @param pauseMillis how long the address is left alone once it has failed often enough
   */
  void failed(ServiceAddress address, long pauseMillis) {
    long until = clock.getAsLong() + TimeUnit.MILLISECONDS.toNanos(pauseMillis);
    states.merge(address, new State(1, until), (old, first) -> new State(old.failures + 1, until));
  }
}
