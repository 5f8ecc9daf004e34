package io.pyhudi.hive.predicate;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;

/** Finds the filter that holds for all rows that a scan of some locations has to return. */
public final class ScanFilter {
  private ScanFilter() {}

  /**
   * Returns the filter of a scan, or null if there is none that can be trusted.
   *
   * <p>One MapReduce job may scan several tables, and one table for several aliases, with one
   * configuration, which may then hold another scan's filter. If there is a plan, the filter must
   * be that of the only alias that reads these locations.
   */
  public static ExprNodeGenericFuncDesc of(JobConf job, List<Path> locations) {
    String serialized = job.get(TableScanDesc.FILTER_EXPR_CONF_STR);
    if (serialized == null) {
      return null;
    }
    ExprNodeGenericFuncDesc filter = SerializationUtilities.deserializeExpression(serialized);
    return Utilities.getPlanPath(job) == null || isOfTheOnlyScan(filter, job, locations)
        ? filter
        : null;
  }

  private static boolean isOfTheOnlyScan(
      ExprNodeGenericFuncDesc filter, JobConf job, List<Path> locations) {
    TableScanOperator scan = SingleScan.of(job, locations);
    return scan != null
        && scan.getConf().getFilterExpr() != null
        && scan.getConf().getFilterExpr().getExprString().equals(filter.getExprString());
  }

  /**
   * Returns the lower-case names of the columns whose values come from the metastore's partitions
   * and not from the files.
   */
  public static Set<String> metastoreColumns(JobConf job) {
    String columns = job.get(hive_metastoreConstants.META_TABLE_PARTITION_COLUMNS);
    return columns == null || columns.isEmpty()
        ? Collections.emptySet()
        : new HashSet<>(Arrays.asList(columns.toLowerCase(Locale.ROOT).split("/")));
  }
}
