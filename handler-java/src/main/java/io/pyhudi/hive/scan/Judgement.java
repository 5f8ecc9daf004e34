package io.pyhudi.hive.scan;

import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.planning.ExtremeRows;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.protocol.PruneResponse;

/** What came of asking about one filter on one table. */
final class Judgement {
  private final Outcome outcome;
  private final String message;
  private final Verdicts verdicts;
  private final PruneCounts counts;
  private final ExtremeRows extremes;
  private final long elapsedMicros;

  private Judgement(
      Outcome outcome,
      String message,
      Verdicts verdicts,
      PruneCounts counts,
      ExtremeRows extremes,
      long elapsedMicros) {
    this.outcome = outcome;
    this.message = message;
    this.verdicts = verdicts;
    this.counts = counts;
    this.extremes = extremes;
    this.elapsedMicros = elapsedMicros;
  }

  /**
   * @param elapsedMicros what the question cost this side
   */
  static Judgement answered(PruneResponse response, long elapsedMicros) throws PruningException {
    return new Judgement(
        Outcome.PRUNED,
        response.getMessage(),
        Verdicts.of(response),
        response.getCounts(),
        null,
        elapsedMicros);
  }

  static Judgement unpruned(Outcome outcome, String message, long elapsedMicros) {
    return new Judgement(outcome, message, Verdicts.none(), null, null, elapsedMicros);
  }

  /** Where no file has to be read, whatever there is of them. */
  static Judgement of(ExtremeRows extremes, long elapsedMicros) {
    return new Judgement(Outcome.ANSWERED, null, Verdicts.none(), null, extremes, elapsedMicros);
  }

  Outcome outcome() {
    return outcome;
  }

  /** Why nothing, or less, was pruned; may be null. */
  String message() {
    return message;
  }

  Verdicts verdicts() {
    return verdicts;
  }

  /** The service's own counts, or null. */
  PruneCounts counts() {
    return counts;
  }

  /** The rows that stand for all rows of the table, or null. */
  ExtremeRows extremes() {
    return extremes;
  }

  long elapsedMicros() {
    return elapsedMicros;
  }
}
