package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class PlannedKeysTest {
  @Test
  void aPreparedQueryIsPlannedForLaterOnes() {
    assertTrue(PlannedKeys.isPlanKept("PREPARE q FROM SELECT * FROM t JOIN s ON t.k = s.k"));
    assertTrue(PlannedKeys.isPlanKept("-- daily\n execute q USING 1"));
    assertTrue(PlannedKeys.isPlanKept(null));
  }

  @Test
  void anotherQueryIsNot() {
    assertFalse(PlannedKeys.isPlanKept("SELECT prepared, executed FROM t JOIN s ON t.k = s.k"));
  }
}
