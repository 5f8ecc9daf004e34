package io.pyhudi.hive.table;

import static io.pyhudi.hive.table.MemoryEstimates.SKIPPED;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MemoryEstimatesTest {
  @BeforeEach
  void forget() {
    SKIPPED.forEach(System::clearProperty);
  }

  @AfterEach
  void restore() {
    SKIPPED.forEach(property -> System.setProperty(property, "true"));
  }

  @Test
  void nothingIsAttached() {
    MemoryEstimates.withoutDebugger();
    assertEquals(
        Arrays.asList("true", "true"),
        SKIPPED.stream().map(System::getProperty).collect(Collectors.toList()));
  }

  @Test
  void anAdministratorMayAttachOne() {
    System.setProperty(SKIPPED.get(0), "false");
    MemoryEstimates.withoutDebugger();
    assertEquals(
        Arrays.asList("false", "true"),
        SKIPPED.stream().map(System::getProperty).collect(Collectors.toList()));
  }
}
