package io.pyhudi.spark.service;

import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.scan.Verdicts;
import java.util.Locale;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What the service proved about the files of one relation, or why it proved nothing. */
public final class Answer {
  private static final double MEGABYTE = 1e6;

  private final Verdicts verdicts;
  private final PruneCounts counts;
  private final KeptSlices kept;
  private final String instant;
  private final String text;

  private Answer(
      Verdicts verdicts, PruneCounts counts, KeptSlices kept, String instant, String text) {
    this.verdicts = verdicts;
    this.counts = counts;
    this.instant = instant;
    this.kept = kept;
    this.text = text;
  }

  /**
   * @throws PruningException if the response contradicts itself
   */
  static Answer of(PruneResponse response) throws PruningException {
    PruneCounts counts = response.getCounts();
    KeptSlices kept = counts == null ? null : response.getKept();
    return new Answer(Verdicts.of(response), counts, kept, response.getInstant(), shown(counts));
  }

  static Answer failed(Outcome outcome) {
    return new Answer(
        Verdicts.none(), null, null, null, "pruning " + outcome + ", reads every file");
  }

  /** Returns the answer for a relation that no answer could be used for. */
  public static Answer notAsked(String reason) {
    return new Answer(Verdicts.none(), null, null, null, "not pruned: " + reason);
  }

  /** Returns what is proved with other counts: of the files among which the query reads. */
  public Answer withCounts(PruneCounts others) {
    return new Answer(verdicts, others, kept, instant, shown(others));
  }

  private static String shown(PruneCounts counts) {
    if (counts == null) {
      return "pruning " + Outcome.PRUNED;
    }
    return String.format(
        Locale.ROOT,
        "pruning %s, reads %d of %d files, %.1f of %.1f MB%s",
        counts.getFilesDropped() == 0 ? "NOTHING_SKIPPED" : Outcome.PRUNED,
        counts.getFilesConsidered() - counts.getFilesDropped(),
        counts.getFilesConsidered(),
        (counts.getBytesConsidered() - counts.getBytesDropped()) / MEGABYTE,
        counts.getBytesConsidered() / MEGABYTE,
        droppedBy(counts));
  }

  private static String droppedBy(PruneCounts counts) {
    if (!counts.isSetFilesDroppedBy() || counts.getFilesDroppedBy().isEmpty()) {
      return "";
    }
    return new TreeMap<>(counts.getFilesDroppedBy())
        .entrySet().stream()
            .map(index -> index.getKey() + " " + index.getValue())
            .collect(Collectors.joining(", ", ", left out by ", ""));
  }

  public Verdicts verdicts() {
    return verdicts;
  }

  /** The service's own counts, or null. */
  public PruneCounts counts() {
    return counts;
  }

  /** Returns the service's list of the slices to read, or null. */
  public KeptSlices kept() {
    return kept;
  }

  /**
   * Returns whether the service has seen a newer state of the table.
   *
   * @param known the requested time of the newest instant that somebody knows; null: of none
   */
  public boolean isNewerThan(String known) {
    return instant != null && (known == null || instant.compareTo(known) > 0);
  }

  /** Returns the size of the files that are kept, if there are counts. */
  public long keptBytes() {
    return Math.max(0, counts.getBytesConsidered() - counts.getBytesDropped());
  }

  /** Describes the answer for plans. */
  public String text() {
    return text;
  }
}
