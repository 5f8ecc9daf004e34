package io.pyhudi.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.hadoop.hive.ql.plan.PlanUtils;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterJobsTest {
  private static final String TABLE = "hdfs://cluster/warehouse/trips";
  private static final String JARS_FIRST = "mapreduce.job.user.classpath.first";
  private static final String SECRET = "0123456789abcdef";

  @TempDir Path directory;

  private PruningSettings settings() throws IOException {
    Path token = directory.resolve("token");
    Files.write(token, SECRET.getBytes(StandardCharsets.UTF_8));
    String site =
        "<configuration><property><name>hudi.pruning.token.file</name><value>"
            + token
            + "</value></property></configuration>";
    Path file = directory.resolve("hive-site.xml");
    Files.write(file, site.getBytes(StandardCharsets.UTF_8));
    return PruningSettings.ofTable(
        new Properties(), AdministratorSettings.of(file.toUri().toURL()));
  }

  private static JobConf job(String engine, String framework) {
    JobConf job = new JobConf(false);
    job.set("hive.execution.engine", engine);
    job.set("mapreduce.framework.name", framework);
    return job;
  }

  private static JobConf prepared(JobConf job) {
    TableDesc table = new TableDesc();
    table.setProperties(new Properties());
    table.getProperties().setProperty("location", TABLE);
    ClusterJobs.prepare(table, job);
    return job;
  }

  @Test
  void mapReduceOnYarnTakesOurJarsFirst() {
    assertEquals("true", prepared(job("mr", "yarn")).get(JARS_FIRST));
    assertNull(prepared(job("mr", "local")).get(JARS_FIRST));
    assertNull(prepared(job("tez", "yarn")).get(JARS_FIRST));
  }

  @Test
  void whatTheUserHasSetStays() {
    JobConf job = job("mr", "yarn");
    job.set(JARS_FIRST, "false");
    assertEquals("false", prepared(job).get(JARS_FIRST));
  }

  @Test
  void aJobBringsCredentialsForItsTableApartFromItsConfiguration() throws IOException {
    JobConf job = job("tez", "yarn");
    JobSecrets.of(job).add(TABLE, settings());
    JobConf inContainer = new JobConf(job);
    assertNotNull(JobSecrets.of(inContainer).ofTable(TABLE));
    assertNull(JobSecrets.of(inContainer).ofTable(TABLE + "2"));
    StringWriter shown = new StringWriter();
    job.writeXml(shown);
    assertFalse(shown.toString().contains("job1."));
    assertFalse(shown.toString().contains(SECRET));
  }

  @Test
  void aTableWithoutTheHandlerBringsTheSameByHive() throws IOException {
    TableDesc table = new TableDesc();
    table.setProperties(new Properties());
    table.getProperties().setProperty("name", "db.trips");
    JobSecrets.addTo(table, TABLE, settings());
    JobSecrets.addTo(table, TABLE + "/other", settings());
    JobConf job = job("tez", "yarn");
    PlanUtils.configureJobConf(table, job);
    JobConf inContainer = new JobConf(job);
    assertNotNull(JobSecrets.of(inContainer).ofTable(TABLE));
    assertNotNull(JobSecrets.of(inContainer).ofTable(TABLE + "/other"));
    assertNull(JobSecrets.of(inContainer).ofTable("/other"));
    assertTrue(table.getJobSecrets().isEmpty(), "the plan would show them");
  }

  @Test
  void mapReduceOnYarnTakesOurJarsFirstForATableWithoutTheHandler() {
    TableDesc table = new TableDesc();
    table.setProperties(new Properties());
    JobConf query = job("mr", "yarn");
    ClusterJobs.prepareAdopted(table, query);
    assertEquals("true", query.get(JARS_FIRST));
  }

  @Test
  void aCopyThatCannotBeReadIsNone() {
    JobConf job = job("tez", "yarn");
    job.getCredentials().addSecretKey(new Text("hudi.pruning#" + TABLE), new byte[] {1});
    assertNull(JobSecrets.of(job).ofTable(TABLE));
  }
}
