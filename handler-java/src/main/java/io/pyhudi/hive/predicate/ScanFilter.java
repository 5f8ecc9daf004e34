package io.pyhudi.hive.predicate;

import java.util.ArrayList;
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
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPOr;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.mapred.JobConf;

/** Finds the filter that holds for all rows that a scan of some locations has to return. */
public final class ScanFilter {
  private ScanFilter() {}

  /**
   * Returns the filter of a scan, or null if there is none that can be trusted.
   *
   * <p>One MapReduce job may scan several tables, and one table for several aliases, with one
   * configuration, which may then hold another scan's filter. If there is a plan, the filter must
   * be that of the only alias that reads these locations. Hive passes no filter at all to a job
   * with several aliases; there it is found in the plan.
   */
  public static ExprNodeGenericFuncDesc of(JobConf job, List<Path> locations) {
    String serialized = job.get(TableScanDesc.FILTER_EXPR_CONF_STR);
    if (serialized == null) {
      return either(SingleScan.ofSharedJob(job, locations));
    }
    ExprNodeGenericFuncDesc filter = SerializationUtilities.deserializeExpression(serialized);
    return Utilities.getPlanPath(job) == null || isOfTheOnlyScan(filter, job, locations)
        ? filter
        : null;
  }

  /** Returns the filter that {@link #of} has found in serialized form: as Hive has passed it. */
  public static String text(JobConf job, ExprNodeGenericFuncDesc filter) {
    String serialized = job.get(TableScanDesc.FILTER_EXPR_CONF_STR);
    return serialized == null ? SerializationUtilities.serializeExpression(filter) : serialized;
  }

  private static boolean isOfTheOnlyScan(
      ExprNodeGenericFuncDesc filter, JobConf job, List<Path> locations) {
    TableScanOperator scan = SingleScan.of(job, locations);
    return scan != null
        && scan.getConf().getFilterExpr() != null
        && scan.getConf().getFilterExpr().getExprString().equals(filter.getExprString());
  }

  /**
   * Returns the filter of all rows that any of the scans has to return: each gets the rows of every
   * split. Null if one of them has no filter.
   */
  static ExprNodeGenericFuncDesc either(List<TableScanDesc> scans) {
    List<ExprNodeDesc> filters = new ArrayList<>();
    Set<String> tables = new HashSet<>();
    for (TableScanDesc scan : scans) {
      if (scan.getFilterExpr() == null) {
        return null;
      }
      filters.add(scan.getFilterExpr());
      tables.add(scan.getDatabaseName() + "." + scan.getTableName());
    }
    // Two tables at one location may declare its columns differently.
    if (tables.size() != 1) {
      return null;
    }
    return filters.size() == 1
        ? (ExprNodeGenericFuncDesc) filters.get(0)
        : new ExprNodeGenericFuncDesc(
            TypeInfoFactory.booleanTypeInfo, new GenericUDFOPOr(), filters);
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
