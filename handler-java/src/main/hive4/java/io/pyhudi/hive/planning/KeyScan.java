package io.pyhudi.hive.planning;

import io.pyhudi.hive.predicate.DynamicPruning;
import io.pyhudi.hive.predicate.ExactConditions;
import io.pyhudi.hive.scan.TableScan;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.exec.CommonJoinOperator;
import org.apache.hadoop.hive.ql.exec.ExprNodeEvaluator;
import org.apache.hadoop.hive.ql.exec.ExprNodeEvaluatorFactory;
import org.apache.hadoop.hive.ql.exec.FetchOperator;
import org.apache.hadoop.hive.ql.exec.FilterOperator;
import org.apache.hadoop.hive.ql.exec.GroupByOperator;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.ReduceSinkOperator;
import org.apache.hadoop.hive.ql.exec.SelectOperator;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.FetchWork;
import org.apache.hadoop.hive.ql.plan.JoinDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.PlanUtils;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.serde2.ColumnProjectionUtils;
import org.apache.hadoop.hive.serde2.objectinspector.InspectableObject;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.BooleanObjectInspector;
import org.apache.hadoop.mapred.JobConf;

/**
 * One side of a join whose keys are a column of a table, of rows that pass a filter.
 *
 * <p>The side may have fewer rows than that, but no other keys: what lies between the table and the
 * join removes rows, repeats them, pads others with NULL, or names columns anew.
 */
final class KeyScan {
  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final TableScanOperator scan;
  private final ExprNodeColumnDesc key;
  private final List<ExprNodeDesc> conditions;
  private final boolean ofEveryRow;
  private final boolean joined;

  private KeyScan(
      TableScanOperator scan,
      ExprNodeColumnDesc key,
      List<ExprNodeDesc> conditions,
      boolean ofEveryRow,
      boolean joined) {
    this.scan = scan;
    this.key = key;
    this.conditions = conditions;
    this.ofEveryRow = ofEveryRow;
    this.joined = joined;
  }

  /**
   * Returns where the keys come from that a condition stands for; null if from more than one table.
   *
   * @param condition that {@link DynamicPruning#mayRestrict} accepts
   */
  static KeyScan of(ExprNodeDesc condition) {
    ExprNodeDesc key = DynamicPruning.keyOf(condition);
    Operator<? extends OperatorDesc> operator = DynamicPruning.sideOf(condition);
    List<ExprNodeDesc> conditions = new ArrayList<>();
    boolean ofEveryRow = true;
    boolean joined = false;
    int input = 0;
    while (key instanceof ExprNodeColumnDesc && input < operator.getNumParent()) {
      operator = operator.getParentOperators().get(input);
      input = 0;
      if (operator instanceof FilterOperator) {
        List<ExprNodeDesc> parts =
            ExprNodeDescUtils.split(((FilterOperator) operator).getConf().getPredicate());
        ofEveryRow &= parts.stream().allMatch(KeyScan::removesNoKey);
        // Of columns with the names of the table's, if no projection is between.
        conditions.addAll(parts);
      } else if (isRenaming(operator)) {
        String column = ((ExprNodeColumnDesc) key).getColumn();
        input = inputWith(operator, column);
        key = operator.getColumnExprMap().get(column);
        conditions.clear();
        joined |= operator instanceof CommonJoinOperator;
      } else {
        break;
      }
    }
    if (!(operator instanceof TableScanOperator) || !(key instanceof ExprNodeColumnDesc)) {
      return null;
    }
    return new KeyScan(
        (TableScanOperator) operator,
        (ExprNodeColumnDesc) key,
        conditions,
        ofEveryRow && !joined,
        joined);
  }

  /** The keys of a join remove files of a scan, but no rows of the files that are left. */
  private static boolean removesNoKey(ExprNodeDesc condition) {
    return ExactConditions.isNotNull(condition) || DynamicPruning.isByKeys(condition);
  }

  private static boolean isRenaming(Operator<? extends OperatorDesc> operator) {
    return (operator instanceof SelectOperator
            || operator instanceof GroupByOperator
            || operator instanceof ReduceSinkOperator
            || operator instanceof CommonJoinOperator)
        && operator.getColumnExprMap() != null;
  }

  /** Returns the position of the input that has a column of the output; none of them if unknown. */
  private static int inputWith(Operator<? extends OperatorDesc> operator, String column) {
    if (!(operator instanceof CommonJoinOperator)) {
      return 0;
    }
    Map<String, Byte> inputs = ((JoinDesc) operator.getConf()).getReversedExprs();
    Byte input = inputs == null ? null : inputs.get(column);
    return input == null ? Integer.MAX_VALUE : input;
  }

  Table table() {
    return scan.getConf().getTableMetadata();
  }

  String column() {
    return key.getColumn();
  }

  /** Returns whether the keys are those of all rows of the files that are read. */
  boolean isOfEveryRow() {
    return ofEveryRow;
  }

  /** Returns whether a join may remove more of the keys. */
  boolean isJoined() {
    return joined;
  }

  /** Returns the conditions by which keys of other joins restrict the rows. */
  List<ExprNodeDesc> byKeys() {
    return conditions.stream().filter(DynamicPruning::isByKeys).collect(Collectors.toList());
  }

  /** Returns the text of a query that has these keys as its rows, for one state of the table. */
  String text() {
    return "SELECT "
        + key.getColumn()
        + " FROM "
        + table().getFullyQualifiedName()
        + " WHERE "
        + filter().getExprString();
  }

  /** Returns whether a condition other than IS NOT NULL removes keys. */
  boolean isFiltered() {
    return exact().stream().anyMatch(condition -> !ExactConditions.isNotNull(condition));
  }

  /**
   * Reads the keys in this process, as a fetch task would.
   *
   * @param query the configuration of the query
   * @return its different keys, none of them NULL; none at all if there are too many, or if reading
   *     takes too long
   */
  Set<Object> read(Configuration query, long mostRows, int mostKeys)
      throws IOException, HiveException {
    long start = System.nanoTime();
    TableDesc description = Utilities.getTableDesc(table());
    PlanUtils.configureInputJobPropertiesForStorageHandler(description);
    ExprNodeDesc filter = filter();
    FetchOperator rows =
        new FetchOperator(new FetchWork(table().getPath(), description), job(query, filter));
    try {
      StructObjectInspector row = (StructObjectInspector) rows.getOutputObjectInspector();
      ExprNodeEvaluator<?> passes = ExprNodeEvaluatorFactory.get(filter, query);
      BooleanObjectInspector truth = (BooleanObjectInspector) passes.initialize(row);
      ExprNodeEvaluator<?> column = ExprNodeEvaluatorFactory.get(key, query);
      ObjectInspector type = column.initialize(row);
      Set<Object> keys = new LinkedHashSet<>();
      long count = 0;
      for (InspectableObject next = rows.getNextRow(); next != null; next = rows.getNextRow()) {
        count++;
        if (count > mostRows || System.nanoTime() - start > MOST_NANOS) {
          return Collections.emptySet();
        }
        Object value = column.evaluate(next.o);
        if (value != null && isTrue(passes.evaluate(next.o), truth)) {
          keys.add(ObjectInspectorUtils.copyToStandardJavaObject(value, type));
          if (keys.size() > mostKeys) {
            return Collections.emptySet();
          }
        }
      }
      return keys;
    } finally {
      rows.clearFetchContext();
    }
  }

  private static boolean isTrue(Object value, BooleanObjectInspector truth) {
    return value != null && truth.get(value);
  }

  private List<ExprNodeDesc> exact() {
    return conditions.stream().filter(ExactConditions::isExact).collect(Collectors.toList());
  }

  private ExprNodeDesc filter() {
    List<ExprNodeDesc> parts = exact();
    return parts.size() == 1 ? parts.get(0) : ExprNodeDescUtils.and(parts);
  }

  private JobConf job(Configuration query, ExprNodeDesc filter) {
    JobConf job = new JobConf(query);
    job.setBoolean(TableScan.WHILE_PLANNED, true);
    ColumnProjectionUtils.appendReadColumns(
        job,
        scan.getNeededColumnIDs(),
        scan.getNeededColumns(),
        scan.getNeededNestedColumnPaths(),
        false);
    job.set(
        TableScanDesc.FILTER_EXPR_CONF_STR,
        SerializationUtilities.serializeExpression((ExprNodeGenericFuncDesc) filter));
    return job;
  }
}
