package io.pyhudi.hive.scan;

import io.pyhudi.hive.client.Outcome;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.mapred.Reporter;

/** What one scan considered and what is left of it to read. Files are base and log files. */
public final class ScanReport {
  private static final String COUNTERS = "Hudi pruning";

  private final Outcome outcome;
  private final long filesConsidered;
  private final long filesKept;
  private final long bytesConsidered;
  private final long bytesKept;

  ScanReport(
      Outcome outcome, long filesConsidered, long filesKept, long bytesConsidered, long bytesKept) {
    this.outcome = outcome;
    this.filesConsidered = filesConsidered;
    this.filesKept = filesKept;
    this.bytesConsidered = bytesConsidered;
    this.bytesKept = bytesKept;
  }

  public Outcome outcome() {
    return outcome;
  }

  /** Name and value of each number, in the order in which it is shown. */
  Map<String, Long> numbers() {
    Map<String, Long> numbers = new LinkedHashMap<>();
    numbers.put("filesConsidered", filesConsidered);
    numbers.put("filesKept", filesKept);
    numbers.put("bytesConsidered", bytesConsidered);
    numbers.put("bytesKept", bytesKept);
    return numbers;
  }

  /** For a person: "PRUNED, reads 3 of 250 files, 1.5 of 30.2 MB". */
  String text() {
    return String.format(
        Locale.ROOT,
        "%s, reads %d of %d files, %.1f of %.1f MB",
        outcome,
        filesKept,
        filesConsidered,
        bytesKept / 1e6,
        bytesConsidered / 1e6);
  }

  /** Adds the numbers to the job's counters, where the engine has them. */
  public void count(Reporter reporter) {
    reporter.incrCounter(COUNTERS, "FILES_CONSIDERED", filesConsidered);
    reporter.incrCounter(COUNTERS, "FILES_DROPPED", filesConsidered - filesKept);
    reporter.incrCounter(COUNTERS, "BYTES_DROPPED", bytesConsidered - bytesKept);
    reporter.incrCounter(COUNTERS, "SCANS_" + outcome, 1);
  }

  void write(DataOutput out) throws IOException {
    out.writeUTF(outcome.name());
    out.writeLong(filesConsidered);
    out.writeLong(filesKept);
    out.writeLong(bytesConsidered);
    out.writeLong(bytesKept);
  }

  static ScanReport read(DataInput in) throws IOException {
    return new ScanReport(
        Outcome.valueOf(in.readUTF()), in.readLong(), in.readLong(), in.readLong(), in.readLong());
  }
}
