package io.pyhudi.hive.planning;

import io.pyhudi.hive.predicate.SingleScan;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.io.IOConstants;
import org.apache.hadoop.hive.ql.io.parquet.read.DataWritableReadSupport;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.mapred.JobConf;

/**
 * A query that needs nothing of a scan's rows but values of partition columns, whatever it does
 * with them: {@code SELECT day, count(*) FROM t GROUP BY day}.
 */
public final class PartitionQuery {
  private final List<String> names;
  private final List<TypeInfo> types;
  private final boolean countsRows;

  /**
   * @param names lower-case names of the columns
   * @param types their types in Hive
   * @param countsRows whether it matters how many rows have the same values
   */
  PartitionQuery(List<String> names, List<TypeInfo> types, boolean countsRows) {
    this.names = names;
    this.types = types;
    this.countsRows = countsRows;
  }

  /** Returns the lower-case names of the columns. */
  public List<String> columnNames() {
    return names;
  }

  List<TypeInfo> types() {
    return types;
  }

  boolean countsRows() {
    return countsRows;
  }

  /**
   * Returns the query of a scan; empty if it needs another column, or if that is unknown.
   *
   * @param partitionColumns lower-case names
   */
  public static Optional<PartitionQuery> of(
      JobConf job, List<Path> locations, Collection<String> partitionColumns) {
    TableScanOperator scan = partitionColumns.isEmpty() ? null : SingleScan.of(job, locations);
    return scan == null || SingleScan.isSampled(job)
        ? Optional.empty()
        : of(scan, partitionColumns, job);
  }

  /**
   * @param table the configuration with the names and types of the table's columns
   */
  static Optional<PartitionQuery> of(
      Operator<TableScanDesc> scan, Collection<String> partitionColumns, Configuration table) {
    if (!needsOnly(scan.getConf(), partitionColumns)) {
      return Optional.empty();
    }
    List<String> declared =
        DataWritableReadSupport.getColumnNames(table.get(IOConstants.COLUMNS, ""));
    List<TypeInfo> types =
        DataWritableReadSupport.getColumnTypes(table.get(IOConstants.COLUMNS_TYPES, ""));
    TreeMap<String, TypeInfo> needed = new TreeMap<>();
    for (String name : scan.getConf().getNeededColumns()) {
      int position = declared.indexOf(name);
      if (position < 0 || position >= types.size()) {
        return Optional.empty();
      }
      needed.put(name.toLowerCase(Locale.ROOT), types.get(position));
    }
    return Optional.of(
        new PartitionQuery(
            new ArrayList<>(needed.keySet()),
            new ArrayList<>(needed.values()),
            !ignoresEqualRows(Operators.onlyChild(scan))));
  }

  private static boolean needsOnly(TableScanDesc scan, Collection<String> columns) {
    List<String> needed = scan.getNeededColumns();
    boolean hasVirtual = scan.getVirtualCols() != null && !scan.getVirtualCols().isEmpty();
    return Operators.returnsAll(scan)
        && !hasVirtual
        && needed != null
        && !needed.isEmpty()
        && needed.stream().allMatch(name -> columns.contains(name.toLowerCase(Locale.ROOT)));
  }

  /** Returns whether an operator groups all rows, and asks for nothing that equal rows change. */
  private static boolean ignoresEqualRows(Operator<? extends OperatorDesc> operator) {
    Operator<? extends OperatorDesc> next = operator;
    while (next != null && isPlain(next.getConf())) {
      next = Operators.onlyChild(next);
    }
    return next != null
        && next.getConf() instanceof GroupByDesc
        && ((GroupByDesc) next.getConf())
            .getAggregators().stream().allMatch(PartitionQuery::ignoresEqualRows);
  }

  /** Returns whether an operator passes each row on, with columns of the scan. */
  private static boolean isPlain(OperatorDesc operator) {
    return operator instanceof SelectDesc
        && (((SelectDesc) operator).isSelStarNoCompute()
            || ((SelectDesc) operator)
                .getColList().stream().allMatch(column -> column.getChildren() == null));
  }

  private static boolean ignoresEqualRows(AggregationDesc aggregate) {
    return aggregate.getDistinct() || MinMaxQuery.isExtreme(aggregate);
  }
}
