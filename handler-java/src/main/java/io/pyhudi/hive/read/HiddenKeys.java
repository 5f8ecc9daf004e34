package io.pyhudi.hive.read;

import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.hadoop.hive.ql.io.IOConstants;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.util.StringUtils;
import org.apache.hudi.common.model.HoodieRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hides the record key column of tables with virtual keys: it reads as NULL, also in files that
 * were written with keys. All readers find columns by name, so the column is renamed to one that no
 * file has.
 */
final class HiddenKeys {
  private static final Logger LOG = LoggerFactory.getLogger(HiddenKeys.class);
  private static final String STORED = HoodieRecord.RECORD_KEY_METADATA_FIELD;
  private static final String HIDDEN = STORED + "_of_no_file";
  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

  private HiddenKeys() {}

  /** Returns the settings of a task that reads a table, without its record key column. */
  static JobConf in(JobConf job, String table) {
    // Hive's own names of virtual columns, too: each has its type in another setting.
    Collection<String> names = StringUtils.getStringCollection(job.get(IOConstants.COLUMNS, ""));
    JobConf copy = new JobConf(job);
    copy.set(
        IOConstants.COLUMNS,
        names.stream()
            .map(name -> name.equalsIgnoreCase(STORED) ? HIDDEN : name)
            .collect(Collectors.joining(",")));
    Projection projection = Projection.of(copy);
    boolean isWanted =
        projection.projected().stream().anyMatch(column -> HIDDEN.equals(projection.name(column)));
    if (isWanted && WARNED.add(table)) {
      LOG.warn(
          "{} has virtual keys: {} is NULL, and what files have stored of it is ignored",
          table,
          STORED);
    }
    return copy;
  }
}
