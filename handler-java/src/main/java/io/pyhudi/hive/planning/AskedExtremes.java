package io.pyhudi.hive.planning;

import io.pyhudi.hive.predicate.OnlyScan;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.mapred.JobConf;

/** The columns of a scan, where a query wants nothing of it but least and greatest values. */
final class AskedExtremes {
  private AskedExtremes() {}

  /**
   * The columns by their names in lower case, with their types in Hive; none: the query wants other
   * things of the rows too, or it cannot be told.
   */
  static Map<String, TypeInfo> of(JobConf job, List<Path> locations) {
    TableScanOperator scan = OnlyScan.of(job, locations);
    if (scan == null || !wantsEveryRow(scan.getConf())) {
      return Collections.emptyMap();
    }
    Operator<? extends OperatorDesc> next = onlyChild(scan);
    SelectDesc selected = null;
    if (next != null && next.getConf() instanceof SelectDesc) {
      selected = (SelectDesc) next.getConf();
      next = onlyChild(next);
    }
    return next != null && next.getConf() instanceof GroupByDesc
        ? extremes((GroupByDesc) next.getConf(), selected)
        : Collections.emptyMap();
  }

  private static boolean wantsEveryRow(TableScanDesc scan) {
    return scan.getFilterExpr() == null && scan.getFilterObject() == null && scan.getRowLimit() < 0;
  }

  private static Operator<? extends OperatorDesc> onlyChild(
      Operator<? extends OperatorDesc> operator) {
    List<Operator<? extends OperatorDesc>> children = operator.getChildOperators();
    return children != null && children.size() == 1 ? children.get(0) : null;
  }

  private static Map<String, TypeInfo> extremes(GroupByDesc grouping, SelectDesc selected) {
    if (!grouping.getKeys().isEmpty()) {
      return Collections.emptyMap();
    }
    Map<String, TypeInfo> columns = new HashMap<>();
    for (AggregationDesc aggregation : grouping.getAggregators()) {
      ExprNodeColumnDesc column = isExtreme(aggregation) ? column(aggregation, selected) : null;
      if (column == null || column.getIsPartitionColOrVirtualCol()) {
        return Collections.emptyMap();
      }
      columns.put(column.getColumn().toLowerCase(Locale.ROOT), column.getTypeInfo());
    }
    return columns;
  }

  private static boolean isExtreme(AggregationDesc aggregation) {
    String name = aggregation.getGenericUDAFName().toLowerCase(Locale.ROOT);
    return (name.equals("min") || name.equals("max")) && aggregation.getParameters().size() == 1;
  }

  /** The column of the scan that is aggregated; null: it is something made of columns. */
  private static ExprNodeColumnDesc column(AggregationDesc aggregation, SelectDesc selected) {
    ExprNodeDesc parameter = aggregation.getParameters().get(0);
    if (parameter instanceof ExprNodeColumnDesc
        && selected != null
        && !selected.isSelStarNoCompute()) {
      String name = ((ExprNodeColumnDesc) parameter).getColumn();
      int position = selected.getOutputColumnNames().indexOf(name);
      parameter = position < 0 ? null : selected.getColList().get(position);
    }
    return parameter instanceof ExprNodeColumnDesc ? (ExprNodeColumnDesc) parameter : null;
  }
}
