package io.pyhudi.spark.writes;

import io.pyhudi.spark.plans.Settings;
import io.pyhudi.spark.statements.VirtualKeyWrite;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.JavaConverters;

/**
 * Completes the options of writes into Hudi tables from the tables' own definitions: a writer of
 * Hudi deletes the indexes that its options do not enable. What a writer or its session says about
 * an index holds.
 *
 * <p>Hudi's rules make its commands, so this one must come after them.
 */
public final class KeepIndexes extends Rule<LogicalPlan> {
  private static final Logger LOG = LoggerFactory.getLogger(KeepIndexes.class);
  private static final String CONCURRENCY = "hoodie.write.concurrency.mode";
  private static final String EXTENSION = ".hoodie/pyhudi/metadata/.hoodie";

  private final SparkSession session;

  public KeepIndexes(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof Union) { // several inserts of one statement
      return plan.mapChildren(this::apply);
    }
    Optional<TableWrite> write = write(plan);
    if (write.isPresent() && isOfVirtualKeys(write.get(), plan)) {
      return new VirtualKeyWrite((SaveIntoDataSourceCommand) plan);
    }
    return Settings.keepsIndexes(session)
        ? write
            .filter(found -> found.kind() != TableWrite.Kind.REPLACING)
            .map(this::completed)
            .orElse(plan)
        : plan;
  }

  /** Returns whether a write has options of virtual keys that can be kept; refuses all others. */
  private boolean isOfVirtualKeys(TableWrite write, LogicalPlan plan) {
    Map<String, String> given = VirtualKeyOptions.among(write.given());
    if (plan instanceof SaveIntoDataSourceCommand && !given.isEmpty()) {
      return true;
    }
    Map<String, String> said = VirtualKeyOptions.among(settings());
    said.putAll(given);
    try {
      VirtualKeyOptions.check(write, said, configuration());
      return false;
    } catch (IOException error) {
      throw new UncheckedIOException(write.path() + ": its properties cannot be read", error);
    }
  }

  private Optional<TableWrite> write(LogicalPlan plan) {
    try {
      return TableWrite.of(session, plan);
    } catch (
        Exception error) { // of Scala, undeclared: a table that is not there is Hudi's to report
      LOG.debug("the table of {} is not known", plan.nodeName(), error);
      return Optional.empty();
    }
  }

  private LogicalPlan completed(TableWrite write) {
    LogicalPlan completed = write.with(missing(write));
    return completed instanceof Command && isFollowed(write)
        ? new FollowedWrite(completed, write.path())
        : completed;
  }

  /** Returns the options that the write lacks. A table that cannot be read is Hudi's to report. */
  private Map<String, String> missing(TableWrite write) {
    Map<String, String> given = new HashMap<>(write.given());
    Map<String, String> settings = settings();
    settings.forEach(
        (key, value) -> {
          // What a session turns on, we do, too.
          if ("false".equalsIgnoreCase(value)) {
            given.putIfAbsent(key, value);
          }
        });
    try {
      IndexOptions indexes = IndexOptions.of(write.path(), configuration());
      Map<String, String> options = indexes.missing(given);
      List<String> absent = indexes.absent(given);
      if (!absent.isEmpty()
          && (isMaintenance(write) || indexes.isBuiltAlone() && hasCompany(write, settings))) {
        absent.forEach(key -> options.put(key, settings.getOrDefault(key, "false")));
      }
      LOG.debug("{}: the write keeps indexes by {}", write.path(), options);
      return options;
    } catch (IOException | RuntimeException error) {
      LOG.warn(
          "{}: its indexes are not known ({}); what the write's options do not enable, it may"
              + " delete",
          write.path(),
          error.toString());
      return Collections.emptyMap();
    }
  }

  private static boolean isMaintenance(TableWrite write) {
    return write.kind() == TableWrite.Kind.MAINTENANCE;
  }

  /** Returns whether another action is pending, or may begin during the write. */
  private boolean hasCompany(TableWrite write, Map<String, String> settings) {
    String mode = write.given().getOrDefault(CONCURRENCY, settings.get(CONCURRENCY));
    boolean isAlone = mode == null || mode.equalsIgnoreCase("single_writer");
    return !isAlone
        || !HoodieTableMetaClient.builder()
            .setConf(HadoopFSUtils.getStorageConf(configuration()))
            .setBasePath(write.path())
            .build()
            .getActiveTimeline()
            .filterInflightsAndRequested()
            .empty();
  }

  private boolean isFollowed(TableWrite write) {
    if (!Settings.isFollowed(session, write.given())) {
      return false;
    }
    try {
      Path extension = new Path(write.path(), EXTENSION);
      return extension.getFileSystem(configuration()).exists(extension);
    } catch (IOException error) {
      LOG.warn("{}: its indexes are not refreshed: {}", write.path(), error.toString());
      return false;
    }
  }

  private Map<String, String> settings() {
    return JavaConverters.mapAsJavaMap(session.sessionState().conf().getAllConfs());
  }

  private Configuration configuration() {
    return session.sessionState().newHadoopConf();
  }
}
