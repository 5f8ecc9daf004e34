package io.pyhudi.hive.scan;

import io.pyhudi.hive.HudiCopyOnWriteInputFormat;
import io.pyhudi.hive.HudiMergeOnReadInputFormat;
import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.metadata.ViewGrants;
import io.pyhudi.hive.planning.PassedLimit;
import io.pyhudi.hive.table.HudiTable;
import io.pyhudi.hive.version.AsOfClause;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.PartitionDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Describes a scan's pruning in EXPLAIN. */
public final class ExplainedScan {
  private static final Logger LOG = LoggerFactory.getLogger(ExplainedScan.class);
  private static final String PROPERTY = "hudi.pruning";
  private static final String PARTITION_COLUMNS =
      hive_metastoreConstants.META_TABLE_PARTITION_COLUMNS;

  private ExplainedScan() {}

  /**
   * Returns the properties with an added entry for the outcome and the files, for a table of the
   * storage handler. Never fails.
   */
  public static Map<String, String> properties(
      Configuration conf, TableScanDesc scan, Map<String, String> properties) {
    Map<String, String> more =
        new LinkedHashMap<>(properties == null ? Collections.emptyMap() : properties);
    try {
      Table table = scan.getTableMetadata();
      PruningSettings settings = settings(scan, conf).asReadBy(table.getSd().getInputFormat());
      Path location = new Path(table.getSd().getLocation());
      List<Path> everything = Collections.singletonList(location);
      JobConf job = job(scan, conf);
      MetadataView view = MetadataView.of(location);
      if (view != null) {
        // Hive has asked the handler for the properties of the scan's job, so it has checked them.
        job.set(ViewGrants.checkedProperty(view), "true");
      }
      PassedLimit.move(more, job);
      more.put(PROPERTY, TableScan.preview(job, location, everything, settings));
    } catch (Exception | LinkageError e) {
      more.put(PROPERTY, unknown(e));
    }
    return more;
  }

  /**
   * Adds the outcome and the files to the scan of a table without the storage handler, if one of
   * our input formats reads some of its locations. Never fails.
   *
   * @param scanned the directories that the scan reads, and what describes them
   */
  public static void describe(
      TableScanOperator operator, Map<Path, PartitionDesc> scanned, Configuration conf) {
    TableScanDesc scan = operator.getConf();
    List<Path> ours = new ArrayList<>();
    boolean isReadOptimized = false;
    for (Map.Entry<Path, PartitionDesc> each : scanned.entrySet()) {
      Class<?> format = each.getValue().getInputFileFormatClass();
      if (format == HudiCopyOnWriteInputFormat.class
          || format == HudiMergeOnReadInputFormat.class) {
        ours.add(each.getKey());
        isReadOptimized |= format == HudiCopyOnWriteInputFormat.class;
      }
    }
    if (ours.isEmpty() || scan.getTableMetadata().isNonNative()) {
      return;
    }
    Map<String, String> properties = new LinkedHashMap<>();
    if (scan.getOpProps() != null) {
      properties.putAll(scan.getOpProps());
    }
    try {
      JobConf job = job(scan, conf);
      PruningSettings settings = settings(scan, conf);
      Collections.sort(ours);
      Path basePath = HudiTable.basePathOf(job, ours.get(0));
      String found =
          TableScan.preview(
              job, basePath, ours, isReadOptimized ? settings.readOptimized() : settings);
      int others = scanned.size() - ours.size();
      properties.put(
          PROPERTY, others == 0 ? found : found + "; " + others + " partitions by other formats");
    } catch (Exception | LinkageError e) {
      properties.put(PROPERTY, unknown(e));
    }
    scan.setOpProps(properties);
  }

  private static PruningSettings settings(TableScanDesc scan, Configuration conf) {
    return PruningSettings.ofTable(scan.getTableMetadata().getMetadata())
        .asOf(AsOfClause.of(scan, conf));
  }

  /** Returns the configuration of the scan's job, as far as pruning reads it. */
  private static JobConf job(TableScanDesc scan, Configuration conf) {
    JobConf job = new JobConf(conf);
    job.unset(TableScanDesc.FILTER_EXPR_CONF_STR);
    if (scan.getFilterExpr() != null) {
      String filter = SerializationUtilities.serializeExpression(scan.getFilterExpr());
      job.set(TableScanDesc.FILTER_EXPR_CONF_STR, filter);
    }
    String keys = scan.getTableMetadata().getMetadata().getProperty(PARTITION_COLUMNS);
    if (keys != null) {
      job.set(PARTITION_COLUMNS, keys);
    }
    return job;
  }

  private static String unknown(Throwable e) {
    LOG.warn("EXPLAIN cannot tell what would be pruned", e);
    return "not known: " + e;
  }
}
