package io.pyhudi.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.TableView;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PruningSettingsTest {
  @AfterEach
  void leaveSession() {
    SessionState.detachSession();
  }

  private static Properties table(String key, String value) {
    Properties table = new Properties();
    table.setProperty(key, value);
    return table;
  }

  @Test
  void defaults() {
    PruningSettings settings = PruningSettings.ofJob(new Configuration(false));
    assertTrue(settings.enabled());
    assertEquals("[127.0.0.1:9099]", settings.addresses().toString());
    assertEquals(2000, settings.timeoutMillis());
    assertEquals(TableView.SNAPSHOT, settings.view());
    assertEquals(PruningSettings.LogLevel.INFO, settings.logLevel());
    assertEquals("", settings.reportDir());
  }

  @Test
  void tablePropertiesReachTheJob() {
    PruningSettings table = PruningSettings.ofTable(table(PruningSettings.ENABLED, "false"));
    Configuration job = new Configuration(false);
    table.asMap().forEach(job::set);
    assertFalse(PruningSettings.ofJob(job).enabled());
  }

  @Test
  void setWinsOverTheTable() {
    HiveConf session = new HiveConf();
    session.set(PruningSettings.ENABLED, "true");
    session.set(PruningSettings.TIMEOUT_MS, "50");
    SessionState.setCurrentSessionState(new SessionState(session));
    PruningSettings settings = PruningSettings.ofTable(table(PruningSettings.ENABLED, "false"));
    assertTrue(settings.enabled());
    assertEquals(50, settings.timeoutMillis());
  }

  @Test
  void nonsenseIsReplacedByTheDefault() {
    assertEquals(
        2000, PruningSettings.ofTable(table(PruningSettings.TIMEOUT_MS, "soon")).timeoutMillis());
    assertEquals(
        PruningSettings.LogLevel.INFO,
        PruningSettings.ofTable(table(PruningSettings.LOG_LEVEL, "loud")).logLevel());
    assertEquals(
        TableView.SNAPSHOT, PruningSettings.ofTable(table(PruningSettings.VIEW, "what")).view());
  }

  @Test
  void theReadOptimizedViewIsATableProperty() {
    PruningSettings settings =
        PruningSettings.ofTable(table(PruningSettings.VIEW, "read_optimized"));
    assertEquals(TableView.READ_OPTIMIZED, settings.view());
    assertEquals(
        TableView.READ_OPTIMIZED,
        PruningSettings.ofJob(new Configuration(false)).readOptimized().view());
  }
}
