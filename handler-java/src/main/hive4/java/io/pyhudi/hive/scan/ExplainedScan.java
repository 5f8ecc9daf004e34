package io.pyhudi.hive.scan;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.version.AsOfClause;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Describes a scan's pruning in EXPLAIN. */
public final class ExplainedScan {
  private static final Logger LOG = LoggerFactory.getLogger(ExplainedScan.class);
  private static final String PROPERTY = "hudi.pruning";

  private ExplainedScan() {}

  /** Returns the properties with an added entry for the outcome and the files. Never fails. */
  public static Map<String, String> properties(
      Configuration conf, TableScanDesc scan, Map<String, String> properties) {
    Map<String, String> more =
        new LinkedHashMap<>(properties == null ? Collections.emptyMap() : properties);
    try {
      Table table = scan.getTableMetadata();
      JobConf job = new JobConf(conf);
      job.unset(TableScanDesc.FILTER_EXPR_CONF_STR);
      if (scan.getFilterExpr() != null) {
        String filter = SerializationUtilities.serializeExpression(scan.getFilterExpr());
        job.set(TableScanDesc.FILTER_EXPR_CONF_STR, filter);
      }
      PruningSettings settings =
          PruningSettings.ofTable(table.getMetadata()).asOf(AsOfClause.of(scan, conf));
      more.put(PROPERTY, TableScan.preview(job, new Path(table.getSd().getLocation()), settings));
    } catch (Exception | LinkageError e) {
      LOG.warn("EXPLAIN cannot tell what would be pruned", e);
      more.put(PROPERTY, "not known: " + e);
    }
    return more;
  }
}
