package io.pyhudi.hive.scan;

import io.pyhudi.hive.client.Outcome;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.mapred.Reporter;

/**
 * The files that one scan considered and the files that remain to be read. Files are base and log
 * files.
 */
public final class ScanReport {
  /** The group of this handler's counters. */
  public static final String COUNTERS = "Hudi pruning";

  private final Outcome outcome;
  private final Listing listing;
  private final AnswerSource answer;
  private final long filesConsidered;
  private final long filesKept;
  private final long bytesConsidered;
  private final long bytesKept;
  private final Map<String, Long> filesDroppedBy;
  private final RowReport rows;
  private final long pruningMicros;

  /**
   * @param filesDroppedBy the dropped files by index, each counted among those that the indexes
   *     before it kept; empty if unknown
   * @param rows of the kept files
   * @param pruningMicros the time that the caller spent on pruning, microseconds
   */
  ScanReport(
      Outcome outcome,
      Listing listing,
      AnswerSource answer,
      long filesConsidered,
      long filesKept,
      long bytesConsidered,
      long bytesKept,
      Map<String, Long> filesDroppedBy,
      RowReport rows,
      long pruningMicros) {
    this.outcome = outcome;
    this.listing = listing;
    this.answer = answer;
    this.filesConsidered = filesConsidered;
    this.filesKept = filesKept;
    this.bytesConsidered = bytesConsidered;
    this.bytesKept = bytesKept;
    this.filesDroppedBy = Collections.unmodifiableMap(new TreeMap<>(filesDroppedBy));
    this.rows = rows;
    this.pruningMicros = pruningMicros;
  }

  public Outcome outcome() {
    return outcome;
  }

  /** Returns the name and value of each part, in display order. */
  Map<String, Object> parts() {
    Map<String, Object> parts = new LinkedHashMap<>();
    parts.put("listing", listing.name());
    parts.put("answer", answer.name());
    parts.put("filesConsidered", filesConsidered);
    parts.put("filesKept", filesKept);
    parts.put("filesDroppedBy", filesDroppedBy);
    parts.put("bytesConsidered", bytesConsidered);
    parts.put("bytesKept", bytesKept);
    rows.addTo(parts);
    parts.put("pruningMicros", pruningMicros);
    return parts;
  }

  /**
   * Formats the report for users: "PRUNED, reads 3 of 250 files, 1.5 of 30.2 MB", or
   * "NOTHING_SKIPPED, reads 250 of 250 files, ...".
   */
  String text() {
    return String.format(
        Locale.ROOT,
        "%s, reads %d of %d files, %.1f of %.1f MB%s%s",
        skipsNothing() ? "NOTHING_SKIPPED" : outcome,
        filesKept,
        filesConsidered,
        bytesKept / 1e6,
        bytesConsidered / 1e6,
        rows.text(),
        answer == AnswerSource.BY_CACHE ? ", as asked before" : "");
  }

  /** Returns whether the service was asked and every row can match. */
  private boolean skipsNothing() {
    return outcome == Outcome.PRUNED && filesKept == filesConsidered && rows.isEmpty();
  }

  /** Adds the numbers to the job's counters, if the engine has counters. */
  public void count(Reporter reporter) {
    reporter.incrCounter(COUNTERS, "FILES_CONSIDERED", filesConsidered);
    reporter.incrCounter(COUNTERS, "FILES_KEPT", filesKept);
    reporter.incrCounter(COUNTERS, "FILES_DROPPED", filesConsidered - filesKept);
    filesDroppedBy.forEach((index, files) -> reporter.incrCounter(COUNTERS, by(index), files));
    reporter.incrCounter(COUNTERS, "BYTES_DROPPED", bytesConsidered - bytesKept);
    rows.count(reporter, COUNTERS);
    reporter.incrCounter(COUNTERS, "PRUNING_MICROS", pruningMicros);
    reporter.incrCounter(COUNTERS, "SCANS_" + outcome, 1);
    reporter.incrCounter(COUNTERS, "LISTINGS_" + listing, 1);
    reporter.incrCounter(COUNTERS, "ANSWERS_" + answer, 1);
  }

  private static String by(String index) {
    return "FILES_DROPPED_BY_" + index.toUpperCase(Locale.ROOT).replaceAll("\\W+", "_");
  }

  void write(DataOutput out) throws IOException {
    out.writeUTF(outcome.name());
    out.writeUTF(listing.name());
    out.writeUTF(answer.name());
    out.writeLong(filesConsidered);
    out.writeLong(filesKept);
    out.writeLong(bytesConsidered);
    out.writeLong(bytesKept);
    out.writeInt(filesDroppedBy.size());
    for (Map.Entry<String, Long> dropped : filesDroppedBy.entrySet()) {
      out.writeUTF(dropped.getKey());
      out.writeLong(dropped.getValue());
    }
    rows.write(out);
    out.writeLong(pruningMicros);
  }

  static ScanReport read(DataInput in) throws IOException {
    Outcome outcome = Outcome.valueOf(in.readUTF());
    Listing listing = Listing.valueOf(in.readUTF());
    AnswerSource answer = AnswerSource.valueOf(in.readUTF());
    long filesConsidered = in.readLong();
    long filesKept = in.readLong();
    long bytesConsidered = in.readLong();
    long bytesKept = in.readLong();
    Map<String, Long> filesDroppedBy = new TreeMap<>();
    for (int left = in.readInt(); left > 0; left--) {
      filesDroppedBy.put(in.readUTF(), in.readLong());
    }
    return new ScanReport(
        outcome,
        listing,
        answer,
        filesConsidered,
        filesKept,
        bytesConsidered,
        bytesKept,
        filesDroppedBy,
        RowReport.read(in),
        in.readLong());
  }
}
