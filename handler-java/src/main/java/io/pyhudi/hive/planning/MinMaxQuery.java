package io.pyhudi.hive.planning;

import io.pyhudi.hive.predicate.SingleScan;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.mapred.JobConf;

/** A query that needs only minimum and maximum values and counts from a scan. */
public final class MinMaxQuery {
  private final Map<String, TypeInfo> columns;
  private final Set<String> counted;
  private final boolean countsRows;
  private final ExprNodeColumnDesc filtered;

  /**
   * @param columns see {@link #columns}
   * @param counted the columns whose non-NULL values are counted
   * @param countsRows whether all rows are counted
   */
  MinMaxQuery(Map<String, TypeInfo> columns, Set<String> counted, boolean countsRows) {
    this(columns, counted, countsRows, null);
  }

  private MinMaxQuery(
      Map<String, TypeInfo> columns,
      Set<String> counted,
      boolean countsRows,
      ExprNodeColumnDesc filtered) {
    this.columns = columns;
    this.counted = counted;
    this.countsRows = countsRows;
    this.filtered = filtered;
  }

  /** Returns the same query with a filter, which compares one column and constants. */
  private MinMaxQuery filteredBy(ExprNodeColumnDesc column) {
    Map<String, TypeInfo> all = new HashMap<>(columns);
    all.put(column.getColumn().toLowerCase(Locale.ROOT), column.getTypeInfo());
    return new MinMaxQuery(all, counted, countsRows, column);
  }

  /** Returns whether the query's filter compares a column. */
  boolean filters(String column) {
    return filtered != null && filtered.getColumn().equalsIgnoreCase(column);
  }

  /** Returns the columns' types in Hive by lower-case column name. */
  Map<String, TypeInfo> columns() {
    return columns;
  }

  /** Returns the lower-case names of the columns, those of the filter included, sorted. */
  public List<String> columnNames() {
    return columns.keySet().stream().sorted().collect(Collectors.toList());
  }

  /** Returns whether the non-NULL values of a column are counted. */
  boolean counts(String column) {
    return counted.contains(column);
  }

  /**
   * Returns whether anything is counted. The replacement rows must then be as many as the table's
   * rows.
   */
  boolean countsAny() {
    return countsRows || !counted.isEmpty();
  }

  /**
   * Returns the query of a scan; empty if it needs anything else from the rows, or if that is
   * unknown.
   */
  static Optional<MinMaxQuery> of(JobConf job, List<Path> locations) {
    TableScanOperator scan = SingleScan.of(job, locations);
    boolean isFiltered =
        scan == null
            || scan.getConf().getFilterExpr() != null
            || scan.getConf().getFilterObject() != null;
    return isFiltered || !Operators.returnsAll(scan.getConf())
        ? Optional.empty()
        : below(Operators.onlyChild(scan));
  }

  /**
   * Returns the query of a scan with a filter; empty also if the filter compares other than one
   * column, or is not all of the query's.
   *
   * @param filter the filter that is sent to the service
   */
  public static Optional<MinMaxQuery> of(JobConf job, List<Path> locations, ExprNodeDesc filter) {
    TableScanOperator scan = SingleScan.of(job, locations);
    boolean isKnown =
        scan != null && Operators.returnsAll(scan.getConf()) && !SingleScan.isSampled(job);
    return isKnown ? of(scan, filter) : Optional.empty();
  }

  static Optional<MinMaxQuery> of(Operator<TableScanDesc> scan, ExprNodeDesc filter) {
    List<ExprNodeDesc> sent = ExprNodeDescUtils.split(filter);
    ExprNodeColumnDesc column = onlyColumn(filter);
    Operator<? extends OperatorDesc> next = Operators.onlyChild(scan);
    while (next != null && next.getConf() instanceof FilterDesc) {
      for (ExprNodeDesc each :
          ExprNodeDescUtils.split(((FilterDesc) next.getConf()).getPredicate())) {
        if (sent.stream().noneMatch(each::isSame)) {
          return Optional.empty();
        }
      }
      next = Operators.onlyChild(next);
    }
    return column == null ? Optional.empty() : below(next).map(query -> query.filteredBy(column));
  }

  /** Returns the column of an expression, if it has one, and no other; else null. */
  private static ExprNodeColumnDesc onlyColumn(ExprNodeDesc expression) {
    if (expression instanceof ExprNodeColumnDesc) {
      ExprNodeColumnDesc column = (ExprNodeColumnDesc) expression;
      return column.getIsPartitionColOrVirtualCol() ? null : column;
    }
    ExprNodeColumnDesc found = null;
    for (ExprNodeDesc child : childrenOf(expression)) {
      if (child instanceof ExprNodeConstantDesc) {
        continue;
      }
      ExprNodeColumnDesc column = onlyColumn(child);
      boolean isAnother = found != null && column != null && !column.isSame(found);
      if (column == null || isAnother) {
        return null;
      }
      found = column;
    }
    return found;
  }

  private static List<ExprNodeDesc> childrenOf(ExprNodeDesc expression) {
    List<ExprNodeDesc> children = expression.getChildren();
    return children == null ? Collections.emptyList() : children;
  }

  /**
   * @param first the operator after the scan and its filter, or null
   */
  private static Optional<MinMaxQuery> below(Operator<? extends OperatorDesc> first) {
    Operator<? extends OperatorDesc> next = first;
    SelectDesc selected = null;
    if (next != null && next.getConf() instanceof SelectDesc) {
      selected = (SelectDesc) next.getConf();
      next = Operators.onlyChild(next);
    }
    return next != null && next.getConf() instanceof GroupByDesc
        ? of((GroupByDesc) next.getConf(), selected)
        : Optional.empty();
  }

  /**
   * @param selected the projection between the scan and the aggregates, or null
   */
  static Optional<MinMaxQuery> of(GroupByDesc grouping, SelectDesc selected) {
    if (!grouping.getKeys().isEmpty() || grouping.getAggregators().isEmpty()) {
      return Optional.empty();
    }
    Map<String, TypeInfo> columns = new HashMap<>();
    Set<String> counted = new HashSet<>();
    boolean countsRows = false;
    for (AggregationDesc aggregation : grouping.getAggregators()) {
      if (isOfRows(aggregation, selected)) {
        countsRows = true;
        continue;
      }
      ExprNodeColumnDesc column = column(aggregation, selected);
      if (column == null || column.getIsPartitionColOrVirtualCol()) {
        return Optional.empty();
      }
      String name = column.getColumn().toLowerCase(Locale.ROOT);
      columns.put(name, column.getTypeInfo());
      if (isCount(aggregation)) {
        counted.add(name);
      }
    }
    return Optional.of(new MinMaxQuery(columns, counted, countsRows));
  }

  /**
   * Returns whether the aggregate is count(*), or count of a constant, which is the same unless the
   * constant is NULL.
   */
  private static boolean isOfRows(AggregationDesc aggregation, SelectDesc selected) {
    if (!isCount(aggregation) || aggregation.getParameters().isEmpty()) {
      return isCount(aggregation);
    }
    ExprNodeDesc parameter = onlyParameter(aggregation, selected);
    return parameter instanceof ExprNodeConstantDesc
        && ((ExprNodeConstantDesc) parameter).getValue() != null;
  }

  private static boolean isCount(AggregationDesc aggregation) {
    return aggregation.getGenericUDAFName().equalsIgnoreCase("count") && !aggregation.getDistinct();
  }

  /** Returns whether an aggregate is a minimum or maximum. */
  static boolean isExtreme(AggregationDesc aggregation) {
    String name = aggregation.getGenericUDAFName().toLowerCase(Locale.ROOT);
    return name.equals("min") || name.equals("max");
  }

  /**
   * Returns the column of the scan that is counted or whose minimum or maximum is requested; null
   * for any other aggregate.
   */
  private static ExprNodeColumnDesc column(AggregationDesc aggregation, SelectDesc selected) {
    if (!isExtreme(aggregation) && !isCount(aggregation)) {
      return null;
    }
    ExprNodeDesc parameter = onlyParameter(aggregation, selected);
    return parameter instanceof ExprNodeColumnDesc ? (ExprNodeColumnDesc) parameter : null;
  }

  /**
   * Returns the aggregated expression over the scan's columns; null if it is unknown or there are
   * several.
   */
  private static ExprNodeDesc onlyParameter(AggregationDesc aggregation, SelectDesc selected) {
    if (aggregation.getParameters().size() != 1) {
      return null;
    }
    ExprNodeDesc parameter = aggregation.getParameters().get(0);
    if (parameter instanceof ExprNodeColumnDesc
        && selected != null
        && !selected.isSelStarNoCompute()) {
      String name = ((ExprNodeColumnDesc) parameter).getColumn();
      int position = selected.getOutputColumnNames().indexOf(name);
      return position < 0 ? null : selected.getColList().get(position);
    }
    return parameter;
  }
}
