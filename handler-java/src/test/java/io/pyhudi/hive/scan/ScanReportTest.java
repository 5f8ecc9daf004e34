package io.pyhudi.hive.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pyhudi.hive.client.Outcome;
import java.util.Collections;
import org.junit.jupiter.api.Test;

/** What users read about a scan. */
class ScanReportTest {
  private static final RowReport SOME_ROWS = new RowReport(1, 5000, 1000, 60);

  @Test
  void aScanThatSkipsFilesOrRowsIsPruned() {
    assertEquals(
        "PRUNED, reads 1 of 10 files, 1.0 of 10.0 MB", report(Outcome.PRUNED, 1, RowReport.none()));
    assertEquals(
        "PRUNED, reads 10 of 10 files, 10.0 of 10.0 MB, 1000 of 5000 rows of 1 of them",
        report(Outcome.PRUNED, 10, SOME_ROWS));
  }

  @Test
  void aScanOfWhichEveryFileCanMatchDoesNotSayPruned() {
    assertEquals(
        "NOTHING_SKIPPED, reads 10 of 10 files, 10.0 of 10.0 MB",
        report(Outcome.PRUNED, 10, RowReport.none()));
    assertEquals(
        "TIMED_OUT, reads 10 of 10 files, 10.0 of 10.0 MB",
        report(Outcome.TIMED_OUT, 10, RowReport.none()));
  }

  private static String report(Outcome outcome, long kept, RowReport rows) {
    return new ScanReport(
            outcome,
            Listing.BY_SERVICE,
            AnswerSource.BY_SERVICE,
            10,
            kept,
            10_000_000,
            kept * 1_000_000,
            Collections.emptyMap(),
            rows,
            350)
        .text();
  }
}
