package io.pyhudi.hive.table;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names in a service's list of files stay below the table. */
class ListedSlicesTest {
  @ParameterizedTest
  @ValueSource(strings = {"", "p=1", "2024/01/02", "a..b/c", "ts=2024-01-01 10:00:00"})
  void partitionsBelowTheTableAreUsed(String partition) {
    assertTrue(ListedSlices.isBelow(partition));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"..", "../other", "p/../../other", "/etc", "./p", "file:/etc", "s3a://b/x"})
  void otherPartitionsAreNotUsed(String partition) {
    assertFalse(ListedSlices.isBelow(partition));
  }

  @ParameterizedTest
  @ValueSource(strings = {"a.parquet", ".b_1.log.1_0-1-0", "a..parquet"})
  void namesOfFilesAreUsed(String name) {
    assertTrue(ListedSlices.isName(name));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "..", ".", "../a.parquet", "b/a.parquet", "/etc/passwd"})
  void otherNamesAreNotUsed(String name) {
    assertFalse(ListedSlices.isName(name));
  }
}
