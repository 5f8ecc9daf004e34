package io.pyhudi.hive.client;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Tracks which addresses fail, so that an unavailable service costs the time-out a few times and
 * not once for each query.
 *
 * <p>After the pause one call tries the address; the others skip it until that call succeeds, or
 * for another pause. If no address answers, the query reads every file: see {@code ScanPruner}.
 */
final class CircuitBreaker {
  private static final int FAILURES_TO_OPEN = 3;

  private static final class State {
    final int failures;
    final long retryAtNanos;
    final long pauseNanos;

    State(int failures, long retryAtNanos, long pauseNanos) {
      this.failures = failures;
      this.retryAtNanos = retryAtNanos;
      this.pauseNanos = pauseNanos;
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

  /** Returns whether the breaker is open: {@link #allows} would return false. */
  boolean isOpen(ServiceAddress address) {
    State state = states.get(address);
    return state != null
        && state.failures >= FAILURES_TO_OPEN
        && clock.getAsLong() - state.retryAtNanos < 0;
  }

  /**
   * Returns whether to call the address now. After true, the caller must call it and report success
   * or failure.
   */
  boolean allows(ServiceAddress address) {
    State state = states.get(address);
    if (state == null || state.failures < FAILURES_TO_OPEN) {
      return true;
    }
    long now = clock.getAsLong();
    return now - state.retryAtNanos >= 0
        && states.replace(
            address, state, new State(state.failures, now + state.pauseNanos, state.pauseNanos));
  }

  void succeeded(ServiceAddress address) {
    states.remove(address);
  }

  /**
   * @param pauseMillis how long the address is skipped after it has failed often enough
   */
  void failed(ServiceAddress address, long pauseMillis) {
    long pause = TimeUnit.MILLISECONDS.toNanos(pauseMillis);
    long until = clock.getAsLong() + pause;
    states.merge(
        address,
        new State(1, until, pause),
        (old, first) -> new State(old.failures + 1, until, pause));
  }
}
