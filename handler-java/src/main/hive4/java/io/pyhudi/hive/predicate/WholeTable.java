package io.pyhudi.hive.predicate;

import java.util.List;
import org.apache.hadoop.hive.ql.exec.FilterOperator;
import org.apache.hadoop.hive.ql.exec.GroupByOperator;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.ReduceSinkOperator;
import org.apache.hadoop.hive.ql.exec.SelectOperator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicListDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;

/**
 * Parts of a plan that have the values of every row of one table. Conditions by the keys of a join
 * do not count: they remove files of that table, but no rows of the files that are left.
 */
final class WholeTable {
  private WholeTable() {}

  /** Returns the table of which a part of a plan has every row, but NULLs; null for other parts. */
  static Table of(Operator<? extends OperatorDesc> operator) {
    Operator<? extends OperatorDesc> found = operator;
    while (removesNothing(found) && found.getNumParent() == 1) {
      List<Operator<? extends OperatorDesc>> parents = found.getParentOperators();
      found = parents.get(0);
    }
    return found instanceof TableScanOperator
        ? ((TableScanOperator) found).getConf().getTableMetadata()
        : null;
  }

  private static boolean removesNothing(Operator<? extends OperatorDesc> operator) {
    if (operator instanceof FilterOperator) {
      ExprNodeDesc filter = ((FilterOperator) operator).getConf().getPredicate();
      return ExprNodeDescUtils.split(filter).stream()
          .allMatch(part -> ExactConditions.isNotNull(part) || isByKeys(part));
    }
    return operator instanceof ReduceSinkOperator
        || operator instanceof SelectOperator
        || operator instanceof GroupByOperator;
  }

  private static boolean isByKeys(ExprNodeDesc condition) {
    List<ExprNodeDesc> operands = condition.getChildren();
    return operands != null
        && operands.size() == 2
        && operands.get(1) instanceof ExprNodeDynamicListDesc;
  }
}
