package io.pyhudi.hive.client;

/** Thrown if the pruning service gave no usable response. The scan continues without pruning. */
public final class PruningException extends Exception {
  private static final long serialVersionUID = 1L;

  private final Outcome outcome;

  public PruningException(Outcome outcome, String message) {
    super(message);
    this.outcome = outcome;
  }

  public PruningException(Outcome outcome, String message, Throwable cause) {
    super(message, cause);
    this.outcome = outcome;
  }

  public Outcome outcome() {
    return outcome;
  }

  /** Returns whether the service itself failed, so that another one may succeed. */
  boolean blamesService() {
    return outcome != Outcome.NOTHING_PROVED
        && outcome != Outcome.REFUSED
        && outcome != Outcome.LACKS_KEYS;
  }
}
