package io.pyhudi.hive.scan;

import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.planning.GeneratedRows;
import io.pyhudi.hive.protocol.EqualRows;
import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.MatchingRows;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.protocol.PruneResponse;
import java.util.List;

/**
 * The files of one table that a scan may skip by its filter, or the reason why it may skip none.
 */
final class ScanVerdict {
  private final Outcome outcome;
  private final String message;
  private final Verdicts verdicts;
  private final PruneCounts counts;
  private final KeptSlices kept;
  private final SelectedFiles rows;
  private final GeneratedRows generated;
  private final MatchingRows matching;
  private final List<EqualRows> counted;
  private final AnswerSource source;
  private final long elapsedMicros;

  private ScanVerdict(
      Outcome outcome,
      String message,
      Verdicts verdicts,
      PruneCounts counts,
      KeptSlices kept,
      SelectedFiles rows,
      GeneratedRows generated,
      MatchingRows matching,
      List<EqualRows> counted,
      AnswerSource source,
      long elapsedMicros) {
    this.outcome = outcome;
    this.message = message;
    this.verdicts = verdicts;
    this.counts = counts;
    this.kept = kept;
    this.rows = rows;
    this.generated = generated;
    this.matching = matching;
    this.counted = counted;
    this.source = source;
    this.elapsedMicros = elapsedMicros;
  }

  /**
   * Reads the answer of the pruning service.
   *
   * @param elapsedMicros the time that the request took the caller
   * @throws PruningException if the answer contradicts itself
   */
  static ScanVerdict of(PruneResponse response, AnswerSource source, long elapsedMicros)
      throws PruningException {
    return new ScanVerdict(
        Outcome.PRUNED,
        response.getMessage(),
        Verdicts.of(response),
        response.getCounts(),
        response.getKept(),
        SelectedFiles.of(response.getSelectedRows()),
        null,
        response.getMatching(),
        response.getCounted(),
        source,
        elapsedMicros);
  }

  static ScanVerdict unpruned(Outcome outcome, String message, long elapsedMicros) {
    return new ScanVerdict(
        outcome,
        message,
        Verdicts.none(),
        null,
        null,
        SelectedFiles.none(),
        null,
        null,
        null,
        AnswerSource.NONE,
        elapsedMicros);
  }

  /** Returns the verdict for a query that statistics answer, so that no file has to be read. */
  static ScanVerdict of(GeneratedRows generated, long elapsedMicros) {
    return new ScanVerdict(
        Outcome.ANSWERED,
        null,
        Verdicts.none(),
        null,
        null,
        SelectedFiles.none(),
        generated,
        null,
        null,
        AnswerSource.NONE,
        elapsedMicros);
  }

  /**
   * Returns the same verdict with the rows that represent all rows that match, for a scan of the
   * state that the service saw.
   */
  ScanVerdict answeredBy(GeneratedRows rows) {
    return new ScanVerdict(
        outcome,
        message,
        verdicts,
        counts,
        kept,
        this.rows,
        rows,
        matching,
        counted,
        source,
        elapsedMicros);
  }

  Outcome outcome() {
    return outcome;
  }

  /** Returns why no files, or fewer, were pruned; may be null. */
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

  /** Returns the service's list of the slices to read, or null. */
  KeptSlices kept() {
    return kept;
  }

  /** Returns the rows to read of kept files. */
  SelectedFiles rows() {
    return rows;
  }

  /** Returns the rows that represent all rows that the query needs, or null. */
  GeneratedRows generated() {
    return generated;
  }

  /** Returns all rows that match, if the service knows them, or null. */
  MatchingRows matching() {
    return matching;
  }

  /** Returns all rows of the files to read by their values, if the service knows them, or null. */
  List<EqualRows> counted() {
    return counted;
  }

  AnswerSource source() {
    return source;
  }

  long elapsedMicros() {
    return elapsedMicros;
  }
}
