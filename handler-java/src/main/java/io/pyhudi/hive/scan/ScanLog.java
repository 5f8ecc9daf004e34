package io.pyhudi.hive.scan;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.metadata.MetadataRows;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.table.HudiTable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes one structured line for each scan: to the log, and to the report directory if one is set.
 */
final class ScanLog {
  private static final Logger LOG = LoggerFactory.getLogger("io.pyhudi.hive.scan");
  private static final String FILE = "scans.jsonl";
  private static final Set<Outcome> EXPECTED =
      EnumSet.of(
          Outcome.PRUNED,
          Outcome.ANSWERED,
          Outcome.DISABLED,
          Outcome.NO_FILTER,
          Outcome.NOT_EXPRESSIBLE,
          Outcome.NOTHING_PROVED);

  private ScanLog() {}

  /**
   * @param name the table's name in Hive, or null
   */
  static void write(
      JobConf job,
      String name,
      PruningSettings settings,
      HudiTable table,
      ScanVerdict verdict,
      ScanReport report) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("time", Instant.now().toString());
    fields.put("queryId", ScanPruner.queryId(job));
    fields.put("table", name);
    fields.put("basePath", table.basePath().toString());
    fields.put("instant", table.newestInstant());
    fields.put("state", table.stateText());
    fields.put("view", settings.view().name());
    fields.put("outcome", report.outcome().name());
    if (job.getBoolean(TableScan.WHILE_PLANNED, false)) {
      fields.put("whilePlanned", true);
    }
    fields.putAll(report.parts());
    fields.put("message", verdict.message());
    write(settings, fields);
    if (!EXPECTED.contains(verdict.outcome())) {
      LOG.warn(
          "{}: nothing is pruned, {}: {}", table.basePath(), verdict.outcome(), verdict.message());
    }
  }

  /**
   * Writes the line of a scan of a metadata view.
   *
   * @param name the view's name in Hive, or null
   */
  static void write(
      JobConf job,
      String name,
      PruningSettings settings,
      MetadataView view,
      Outcome outcome,
      MetadataRows rows) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("time", Instant.now().toString());
    fields.put("queryId", ScanPruner.queryId(job));
    fields.put("table", name);
    fields.put("basePath", view.basePath().toString());
    fields.put("metadataView", view.name());
    fields.put("outcome", outcome.name());
    fields.put("rowsConsidered", rows.considered());
    fields.put("rowsSent", rows.size());
    write(settings, fields);
  }

  private static void write(PruningSettings settings, Map<String, Object> fields) {
    String line = Json.object(fields);
    if (settings.logLevel() == PruningSettings.LogLevel.INFO) {
      LOG.info("{}", line);
    } else if (settings.logLevel() == PruningSettings.LogLevel.DEBUG) {
      LOG.debug("{}", line);
    }
    if (!settings.reportDir().isEmpty()) {
      append(settings.reportDir(), line);
    }
  }

  private static synchronized void append(String directory, String line) {
    try {
      Path path = Paths.get(directory);
      Files.createDirectories(path);
      Files.write(
          path.resolve(FILE),
          (line + "\n").getBytes(StandardCharsets.UTF_8),
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException | RuntimeException e) {
      LOG.warn("no scan report in {}: {}", directory, e.toString());
    }
  }
}
