package io.pyhudi.hive.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.files.CountedFileSystem;
import java.io.IOException;
import java.nio.file.Path;
import java.time.ZoneId;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QueryInstantTest {
  @TempDir private Path directory;
  private QueryInstant times;

  @BeforeEach
  void open() throws IOException {
    HudiTable table =
        HudiTable.ofQuery(CountedFileSystem.configuration(), TestTables.create(directory));
    times = new QueryInstant(table, "UTC", ZoneId.of("Asia/Kolkata"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"20260131100000", "20260131100000123"})
  void instantsOfTheTimelineAreUsedAsTheyAre(String instant) {
    assertEquals(instant, times.of(instant));
    assertEquals(instant, times.bound(instant));
  }

  @ParameterizedTest
  @CsvSource({
    "2026-01-31 10:00:00, 20260131043000000",
    "2026-01-31 10:00:00.9876, 20260131043000987",
    "2026-01-31, 20260130183000000",
    "2026-01-31 10:00:00 UTC, 20260131100000000",
    "2026-01-31 10:00:00 America/New_York, 20260131150000000"
  })
  void timesAreOfTheSessionsZoneIfTheyNameNone(String time, String instant) {
    assertEquals(instant, times.of(time));
  }

  @ParameterizedTest
  @ValueSource(strings = {"20269999000000", "2026", "", "yesterday", "2026-02-30x"})
  void anythingElseIsAnError(String text) {
    StateException e = assertThrows(StateException.class, () -> times.of(text));
    assertTrue(e.getMessage().contains("neither an instant of its timeline"), e.getMessage());
  }

  /** Of an error while it plans, Hive reports the innermost cause alone. */
  @Test
  void theErrorIsItsOwnInnermostCause() {
    StateException e = assertThrows(StateException.class, () -> times.of("2026"));
    assertNull(e.getCause());
    assertEquals(1, e.getSuppressed().length);
  }

  @Test
  void theZoneOfTheTimelineMustExist() throws IOException {
    HudiTable table =
        HudiTable.ofQuery(
            CountedFileSystem.configuration(), TestTables.create(directory.resolve("other")));
    QueryInstant nowhere = new QueryInstant(table, "Nowhere", ZoneId.of("UTC"));
    StateException e = assertThrows(StateException.class, () -> nowhere.of("2026-01-31 10:00:00"));
    assertTrue(e.getMessage().contains("'Nowhere', not a time zone"), e.getMessage());
  }

  @Test
  void aBoundMayBeFewerDigits() {
    assertEquals("000", times.bound("000"));
    assertThrows(StateException.class, () -> times.bound("earliest"));
  }
}
