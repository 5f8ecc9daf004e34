package io.pyhudi.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.client.ServiceAddress;
import io.pyhudi.hive.protocol.TableView;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("session")
class PruningSettingsTest {
  @TempDir Path directory;

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
    assertTrue(settings.hasOwnService());
    assertEquals(2000, settings.timeoutMillis());
    assertEquals(TableView.SNAPSHOT, settings.view());
    assertEquals(PruningSettings.LogLevel.INFO, settings.logLevel());
    assertEquals("", settings.reportDir());
  }

  @Test
  void bucketsOfTheTableReachTheJob() {
    String number = "hoodie.bucket.index.num.buckets";
    PruningSettings table = PruningSettings.ofTable(table(number, "8"));
    Configuration job = new Configuration(false);
    table.asMap().forEach(job::set);
    assertEquals(Collections.singletonMap(number, "8"), PruningSettings.ofJob(job).statedBuckets());
    assertNull(PruningSettings.ofJob(new Configuration(false)).statedBuckets());
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

  private AdministratorSettings administrator(String... namesAndValues) throws IOException {
    Configuration file = new Configuration(false);
    for (int i = 0; i < namesAndValues.length; i += 2) {
      file.set(namesAndValues[i], namesAndValues[i + 1]);
    }
    Path path = directory.resolve("hive-site.xml");
    try (OutputStream out = Files.newOutputStream(path)) {
      file.writeXml(out);
    }
    return AdministratorSettings.of(null, path.toUri().toURL());
  }

  private static void setInSession(String key, String value) {
    HiveConf session = new HiveConf();
    session.set(key, value);
    SessionState.setCurrentSessionState(new SessionState(session));
  }

  @Test
  void administratorDecidesWhichServiceIsCalled() throws Exception {
    AdministratorSettings settings = administrator(PruningSettings.ADDRESSES, "good:1");
    Properties evil = table(PruningSettings.ADDRESSES, "evil:1");
    setInSession(PruningSettings.ADDRESSES, "evil:2");
    assertEquals("[good:1]", PruningSettings.ofTable(evil, settings).addresses().toString());
    Configuration job = new Configuration(false);
    job.set(PruningSettings.ADDRESSES, "evil:3");
    assertEquals("[good:1]", PruningSettings.ofJob(job, settings).addresses().toString());
  }

  @Test
  void neitherSessionsNorTablesNameFilesOrTakeTheLimitsAway() throws Exception {
    AdministratorSettings settings = administrator();
    for (String key : PruningSettings.ofJob(new Configuration(false)).asMap().keySet()) {
      boolean harmless = Arrays.asList(AdministratorSettings.HARMLESS.split(",")).contains(key);
      setInSession(key, "7");
      assertEquals(harmless, settings.sessionsMaySet(key), key);
      assertEquals(
          harmless,
          "7".equals(PruningSettings.ofTable(table(key, "7"), settings).asMap().get(key)));
    }
    assertFalse(settings.sessionsMaySet(PruningSettings.REPORT_DIR));
    assertFalse(settings.sessionsMaySet(PruningSettings.TOKEN_FILE));
  }

  @Test
  void theAdministratorMayLetSessionsOrTablesChoose() throws Exception {
    AdministratorSettings sessions =
        administrator(
            AdministratorSettings.SESSION_SETTINGS, "*", PruningSettings.ADDRESSES, "a:1");
    Properties table = table(PruningSettings.ADDRESSES, "b:1");
    assertEquals("[a:1]", PruningSettings.ofTable(table, sessions).addresses().toString());
    setInSession(PruningSettings.ADDRESSES, "c:1");
    assertEquals("[c:1]", PruningSettings.ofTable(table, sessions).addresses().toString());
    AdministratorSettings tables =
        administrator(AdministratorSettings.TABLE_SETTINGS, " x , " + PruningSettings.ADDRESSES);
    assertEquals("[b:1]", PruningSettings.ofTable(table, tables).addresses().toString());
  }

  @Test
  void onlyTheAdministratorNamesAProgramThatHiveServerStarts() throws Exception {
    AdministratorSettings all =
        administrator(
            AdministratorSettings.SESSION_SETTINGS,
            "*",
            AdministratorSettings.TABLE_SETTINGS,
            PruningSettings.PYTHON + "," + PruningSettings.COMPANION,
            PruningSettings.COMPANION,
            "false");
    Properties table = table(PruningSettings.PYTHON, "/tmp/evil");
    table.setProperty(PruningSettings.COMPANION, "true");
    setInSession(PruningSettings.PYTHON, "/tmp/evil");
    PruningSettings settings = PruningSettings.ofTable(table, all);
    assertEquals("", settings.asMap().get(PruningSettings.PYTHON));
    assertFalse(settings.hasOwnService());
  }

  @Test
  void namedServicesAreAskedInsteadOfAnOwnOne() throws Exception {
    AdministratorSettings named = administrator(PruningSettings.ADDRESSES, "nonsense");
    PruningSettings settings = PruningSettings.ofTable(new Properties(), named);
    assertFalse(settings.hasOwnService());
    assertTrue(Services.of(settings, "/t", 0).addresses().isEmpty());
  }

  @Test
  void jobKeepsHiveServersValuesWithoutAdministratorFiles() throws Exception {
    Configuration job = new Configuration(false);
    job.set(PruningSettings.ADDRESSES, "decided:1");
    AdministratorSettings none = AdministratorSettings.of((URL) null);
    assertEquals("[decided:1]", PruningSettings.ofJob(job, none).addresses().toString());
  }

  @Test
  void invalidValuesAreReplacedByTheDefault() {
    assertEquals(
        2000, PruningSettings.ofTable(table(PruningSettings.TIMEOUT_MS, "soon")).timeoutMillis());
    assertEquals(
        PruningSettings.LogLevel.INFO,
        PruningSettings.ofTable(table(PruningSettings.LOG_LEVEL, "loud")).logLevel());
    assertEquals(
        TableView.SNAPSHOT, PruningSettings.ofTable(table(PruningSettings.VIEW, "what")).view());
  }

  @Test
  void servicesAreCalledInAnOrderOfTheTableUnlessTheListedOneIsAskedFor() throws Exception {
    String listed = "a:1,b:1,c:1";
    PruningSettings byTable =
        PruningSettings.ofTable(new Properties(), administrator(PruningSettings.ADDRESSES, listed));
    Set<ServiceAddress> firsts = new HashSet<>();
    for (int i = 0; i < 50; i++) {
      firsts.add(Services.of(byTable, "/t" + i, 0).addresses().get(0));
    }
    assertEquals(new HashSet<>(byTable.addresses()), firsts);
    PruningSettings asListed =
        PruningSettings.ofTable(
            new Properties(),
            administrator(PruningSettings.ADDRESSES, listed, PruningSettings.ORDER, "listed"));
    for (int i = 0; i < 50; i++) {
      assertEquals(asListed.addresses(), Services.of(asListed, "/t" + i, 0).addresses());
    }
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

  @Test
  void planningAsksAboutTheViewThatTheScanReads() {
    PruningSettings settings = PruningSettings.ofJob(new Configuration(false));
    String baseFiles = HudiCopyOnWriteInputFormat.class.getName();
    assertEquals(TableView.READ_OPTIMIZED, settings.asReadBy(baseFiles).view());
    String merged = HudiMergeOnReadInputFormat.class.getName();
    assertEquals(TableView.SNAPSHOT, settings.asReadBy(merged).view());
    assertEquals(TableView.SNAPSHOT, settings.asReadBy(null).view());
  }
}
