package io.pyhudi.hive.client;

/** No usable answer came from the pruning service. The scan goes on unpruned. */
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

  /** Whether the service itself is to blame, so that another one may do better. */
  boolean blamesService() {
    return outcome != Outcome.NOTHING_PROVED && outcome != Outcome.REFUSED;
  }
}
