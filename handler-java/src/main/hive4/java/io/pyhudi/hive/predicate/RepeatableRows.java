package io.pyhudi.hive.predicate;

import java.util.List;
import org.apache.hadoop.hive.ql.exec.CommonJoinOperator;
import org.apache.hadoop.hive.ql.exec.FilterOperator;
import org.apache.hadoop.hive.ql.exec.GroupByOperator;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.ReduceSinkOperator;
import org.apache.hadoop.hive.ql.exec.SelectOperator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.UnionOperator;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;

/**
 * Whether equal parts of a plan have equal rows. Hive takes that for granted: it restricts one scan
 * by the keys of the other's join, if these come from equal parts. But those of a LIMIT may be any
 * rows, and functions such as {@code rand()} choose others each time.
 */
final class RepeatableRows {
  private RepeatableRows() {}

  /** Returns whether an operator returns the same rows each time. */
  static boolean areRepeatable(Operator<? extends OperatorDesc> operator) {
    List<Operator<? extends OperatorDesc>> parents = operator.getParentOperators();
    return isRepeatable(operator)
        && (parents == null || parents.stream().allMatch(RepeatableRows::areRepeatable));
  }

  private static boolean isRepeatable(Operator<? extends OperatorDesc> operator) {
    if (operator instanceof FilterOperator) {
      return ExprNodeDescUtils.isDeterministic(
          ((FilterOperator) operator).getConf().getPredicate());
    }
    if (operator instanceof SelectOperator) {
      SelectOperator selected = (SelectOperator) operator;
      return selected.getConf().isSelStarNoCompute()
          || selected.getConf().getColList().stream().allMatch(ExprNodeDescUtils::isDeterministic);
    }
    return operator instanceof TableScanOperator
        || operator instanceof GroupByOperator
        || operator instanceof ReduceSinkOperator
        || operator instanceof CommonJoinOperator
        || operator instanceof UnionOperator;
  }
}
