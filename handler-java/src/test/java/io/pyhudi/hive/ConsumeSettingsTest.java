package io.pyhudi.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Properties;
import org.junit.jupiter.api.Test;

class ConsumeSettingsTest {
  private final Properties set = new Properties();

  private ConsumeSettings read(String table) {
    return ConsumeSettings.of(table, set::getProperty);
  }

  @Test
  void aTableIsNamedWithOrWithoutItsDatabase() {
    set.setProperty("hoodie.trips.consume.mode", "incremental");
    set.setProperty("hoodie.trips.consume.start.timestamp", "001");
    set.setProperty("hoodie.sales.trips.consume.start.timestamp", " 002 ");
    assertTrue(read("sales.trips").isIncremental());
    assertEquals("002", read("sales.trips").start());
    assertEquals("001", read("other.trips").start());
    assertNull(read("other.trips").end());
    assertFalse(read("sales.other").isIncremental());
  }

  @Test
  void otherModesReadTheTable() {
    set.setProperty("hoodie.trips.consume.mode", "SNAPSHOT");
    assertFalse(read("sales.trips").isIncremental());
    assertFalse(read(null).isIncremental());
  }

  @Test
  void aStateThatTheQueryNamesOverridesThem() {
    set.setProperty("name", "sales.trips");
    set.setProperty("hoodie.trips.consume.mode", "INCREMENTAL");
    PruningSettings settings = PruningSettings.ofTable(set, AdministratorSettings.of());
    assertTrue(settings.consume().isIncremental());
    assertFalse(settings.asOf("20260131100000").consume().isIncremental());
    assertFalse(settings.stateKey().equals(settings.asOf("20260131100000").stateKey()));
  }

  @Test
  void aScanReadsTheStateThatItsOwnTableAsksFor() {
    set.setProperty("name", "sales.trips");
    set.setProperty("hudi.view", "read_optimized");
    PruningSettings ofJob = PruningSettings.ofTable(set, AdministratorSettings.of());
    Properties other = new Properties();
    other.setProperty("hudi.as.of", "20260131100000");
    PruningSettings ofTable = PruningSettings.ofTable(other, AdministratorSettings.of());
    assertEquals("20260131100000", ofJob.inStateOf(ofTable).asOf());
    assertEquals(ofJob.view(), ofJob.inStateOf(ofTable).view());
    assertEquals("", ofTable.inStateOf(ofJob).asOf());
  }
}
