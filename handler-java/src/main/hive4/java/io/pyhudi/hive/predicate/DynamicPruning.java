package io.pyhudi.hive.predicate;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.exec.AppMasterEventOperator;
import org.apache.hadoop.hive.ql.exec.CommonJoinOperator;
import org.apache.hadoop.hive.ql.exec.FilterOperator;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.ReduceSinkOperator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.UnionOperator;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicListDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector.PrimitiveCategory;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;

/**
 * Decides when the keys of one side of a join may restrict which files of the other side are read.
 *
 * <p>Tez can delay the splits of a scan until the other side's keys are known, and then adds {@code
 * column IN (keys)} to the scan's filter. Hive asks the handler for each pair of keys whether to do
 * so. It is done only for the simplest case, because Hive 4.0
 *
 * <ul>
 *   <li>fails while it makes splits if a key is of another type than the column, or of a type with
 *       parameters; NULL among the keys is {@link NullKeys}' business;
 *   <li>passes all the keys as operands to comparisons other than IN;
 *   <li>restricts the scan for all its consumers, in the join or not.
 * </ul>
 */
public final class DynamicPruning {
  /** Types without parameters, for which equality in a join is the same as in a filter. */
  private static final Set<PrimitiveCategory> EXACT =
      EnumSet.of(
          PrimitiveCategory.BYTE,
          PrimitiveCategory.SHORT,
          PrimitiveCategory.INT,
          PrimitiveCategory.LONG,
          PrimitiveCategory.STRING,
          PrimitiveCategory.DATE,
          PrimitiveCategory.TIMESTAMP);

  private DynamicPruning() {}

  /**
   * Returns whether a condition that a join implies may restrict the scan of a table.
   *
   * @param condition as Hive puts it above the scan: a function of a column and of the keys of the
   *     join's other side
   */
  public static boolean mayRestrict(Table table, ExprNodeDesc condition) {
    if (!isByKeys(condition) || !(condition.getChildren().get(0) instanceof ExprNodeColumnDesc)) {
      return false;
    }
    ExprNodeColumnDesc column = (ExprNodeColumnDesc) condition.getChildren().get(0);
    ExprNodeDynamicListDesc keys = (ExprNodeDynamicListDesc) condition.getChildren().get(1);
    return isColumnOf(table, column)
        && isExact(column.getTypeInfo())
        && column.getTypeInfo().equals(keys.getTypeInfo())
        && keys.getSource() instanceof ReduceSinkOperator
        && isReadForOneJoin(table, condition, keys.getSource());
  }

  /** Returns whether a condition says that a value is among the keys of a join's other side. */
  public static boolean isByKeys(ExprNodeDesc condition) {
    return condition instanceof ExprNodeGenericFuncDesc
        && ((ExprNodeGenericFuncDesc) condition).getGenericUDF() instanceof GenericUDFIn
        && condition.getChildren().size() == 2
        && condition.getChildren().get(1) instanceof ExprNodeDynamicListDesc;
  }

  /** Returns whether a query scans the table of a condition that may restrict it more than once. */
  public static boolean isScannedAgain(Table table, ExprNodeDesc condition) {
    return scansOf(table, sideOf(condition)).size() > 1;
  }

  /**
   * Returns whether rows of the scan that such a condition restricts, or those of a join's other
   * side, pass a UNION ALL before they are aggregated or sorted. In Tez that is part of the same
   * vertex if the joins are map joins, and {@code SharedWorkOptimizer.areMergeable} seldom merges
   * scans of such vertices.
   */
  public static boolean isBesideUnion(Table table, ExprNodeDesc condition) {
    return reachable(filterOf(table, condition), DynamicPruning::endsVertex).stream()
        .anyMatch(UnionOperator.class::isInstance);
  }

  private static boolean endsVertex(Operator<? extends OperatorDesc> operator) {
    return operator instanceof ReduceSinkOperator
        && operator.getChildOperators().stream().noneMatch(CommonJoinOperator.class::isInstance);
  }

  /** Returns the tables of the plan that such a condition is part of, each once. */
  public static Collection<Table> tablesOf(ExprNodeDesc condition) {
    return scansOf(sideOf(condition)).stream()
        .map(scan -> scan.getConf().getTableMetadata())
        .filter(Objects::nonNull)
        .collect(Collectors.toMap(Table::getFullyQualifiedName, Function.identity(), (a, b) -> a))
        .values();
  }

  /**
   * Shows such conditions of the plan that one of them is part of, with their tables, in the same
   * order for equal plans.
   */
  public static void visitPlan(ExprNodeDesc condition, BiConsumer<Table, ExprNodeDesc> visitor) {
    List<TableScanOperator> scans = scansOf(sideOf(condition));
    scans.sort(Comparator.comparing(TableScanOperator::getOperatorId));
    for (TableScanOperator scan : scans) {
      Table table = scan.getConf().getTableMetadata();
      for (ExprNodeDesc part : filterParts(scan)) {
        if (table != null && mayRestrict(table, part)) {
          visitor.accept(table, part);
        }
      }
    }
  }

  /** Returns the conditions of the filters right after a scan. */
  private static List<ExprNodeDesc> filterParts(TableScanOperator scan) {
    return scan.getChildOperators().stream()
        .filter(FilterOperator.class::isInstance)
        .map(filter -> ((FilterOperator) filter).getConf().getPredicate())
        .flatMap(predicate -> ExprNodeDescUtils.split(predicate).stream())
        .collect(Collectors.toList());
  }

  /** Returns whether the keys of such a condition are the same each time that they are computed. */
  public static boolean areRepeatable(ExprNodeDesc condition) {
    return RepeatableRows.areRepeatable(sideOf(condition));
  }

  /** Returns the side of the join whose keys such a condition stands for. */
  public static ReduceSinkOperator sideOf(ExprNodeDesc condition) {
    return (ReduceSinkOperator) keysOf(condition).getSource();
  }

  /** Returns the keys of such a condition, as an expression of that side's rows. */
  public static ExprNodeDesc keyOf(ExprNodeDesc condition) {
    ExprNodeDynamicListDesc keys = keysOf(condition);
    return keys.getTarget() != null
        ? keys.getTarget()
        : sideOf(condition).getConf().getKeyCols().get(keys.getKeyIndex());
  }

  private static ExprNodeDynamicListDesc keysOf(ExprNodeDesc condition) {
    return (ExprNodeDynamicListDesc) condition.getChildren().get(1);
  }

  /** Returns the filter right after a scan of the table that such a condition is part of. */
  public static FilterOperator filterOf(Table table, ExprNodeDesc condition) {
    return scansOf(table, sideOf(condition)).stream()
        .flatMap(scan -> scan.getChildOperators().stream())
        .filter(child -> isFilterWith(child, condition))
        .map(FilterOperator.class::cast)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(condition.getExprString()));
  }

  /** Returns the column of a condition that {@link #mayRestrict} accepts. */
  public static String columnOf(ExprNodeDesc condition) {
    return ((ExprNodeColumnDesc) condition.getChildren().get(0)).getColumn();
  }

  private static boolean isColumnOf(Table table, ExprNodeColumnDesc column) {
    for (FieldSchema field : table.getCols()) {
      if (field.getName().equals(column.getColumn())) {
        return !column.getIsPartitionColOrVirtualCol()
            && field.getType().equals(column.getTypeString());
      }
    }
    return false;
  }

  private static boolean isExact(TypeInfo type) {
    return type instanceof PrimitiveTypeInfo
        && EXACT.contains(((PrimitiveTypeInfo) type).getPrimitiveCategory());
  }

  /**
   * Returns whether the scan that a condition restricts is read for the join only that its keys
   * come from. Other scans of the table are others' business, see {@link
   * io.pyhudi.hive.planning.ScansApart}.
   */
  private static boolean isReadForOneJoin(
      Table table, ExprNodeDesc condition, Operator<? extends OperatorDesc> side) {
    List<Operator<? extends OperatorDesc>> joins = side.getChildOperators();
    return joins.size() == 1
        && joins.get(0) instanceof CommonJoinOperator
        && scansOf(table, side).stream()
            .anyMatch(scan -> isAbove(scan, condition) && leadsOnlyTo(joins.get(0), scan));
  }

  /** Returns whether a condition is part of the filter right after a scan. */
  private static boolean isAbove(TableScanOperator scan, ExprNodeDesc condition) {
    return scan.getChildOperators().stream().anyMatch(child -> isFilterWith(child, condition));
  }

  private static boolean isFilterWith(
      Operator<? extends OperatorDesc> operator, ExprNodeDesc condition) {
    return operator instanceof FilterOperator
        && contains(((FilterOperator) operator).getConf().getPredicate(), condition);
  }

  private static boolean contains(ExprNodeDesc expression, ExprNodeDesc part) {
    List<ExprNodeDesc> children = expression.getChildren();
    return expression == part
        || children != null && children.stream().anyMatch(child -> contains(child, part));
  }

  /** Returns the table's scans in the plan that an operator belongs to. */
  private static List<TableScanOperator> scansOf(
      Table table, Operator<? extends OperatorDesc> start) {
    return scansOf(start).stream()
        .filter(scan -> isScanOf(table, scan))
        .collect(Collectors.toList());
  }

  private static List<TableScanOperator> scansOf(Operator<? extends OperatorDesc> start) {
    return reachable(start, operator -> false).stream()
        .filter(TableScanOperator.class::isInstance)
        .map(TableScanOperator.class::cast)
        .collect(Collectors.toList());
  }

  /** Returns the operators of a plan from one of them up to those that are ends. */
  private static Set<Operator<? extends OperatorDesc>> reachable(
      Operator<? extends OperatorDesc> start, Predicate<Operator<? extends OperatorDesc>> isEnd) {
    Set<Operator<? extends OperatorDesc>> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Operator<? extends OperatorDesc>> open = new ArrayDeque<>();
    open.push(start);
    while (!open.isEmpty()) {
      Operator<? extends OperatorDesc> operator = open.pop();
      if (seen.add(operator) && !isEnd.test(operator)) {
        neighbours(operator).forEach(open::push);
      }
    }
    return seen;
  }

  private static boolean isScanOf(Table table, TableScanOperator scan) {
    Table scanned = scan.getConf().getTableMetadata();
    return scanned != null && scanned.getFullyQualifiedName().equals(table.getFullyQualifiedName());
  }

  private static List<Operator<? extends OperatorDesc>> neighbours(
      Operator<? extends OperatorDesc> operator) {
    List<Operator<? extends OperatorDesc>> neighbours = new ArrayList<>();
    if (operator.getParentOperators() != null) {
      neighbours.addAll(operator.getParentOperators());
    }
    if (operator.getChildOperators() != null) {
      neighbours.addAll(operator.getChildOperators());
    }
    return neighbours;
  }

  private static boolean leadsOnlyTo(
      Operator<? extends OperatorDesc> join, Operator<? extends OperatorDesc> start) {
    Operator<? extends OperatorDesc> operator = start;
    while (operator != join) {
      List<Operator<? extends OperatorDesc>> rows = new ArrayList<>(operator.getChildOperators());
      rows.removeIf(DynamicPruning::isForPruning);
      if (rows.size() != 1) {
        return false;
      }
      operator = rows.get(0);
    }
    return true;
  }

  /** Returns whether these rows only provide keys for other scans. */
  private static boolean isForPruning(Operator<? extends OperatorDesc> start) {
    Operator<? extends OperatorDesc> operator = start;
    while (operator.getNumChild() == 1) {
      operator = operator.getChildOperators().get(0);
    }
    return operator.getNumChild() == 0
        && (operator instanceof AppMasterEventOperator || operator instanceof ReduceSinkOperator);
  }
}
