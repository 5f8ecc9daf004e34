package io.pyhudi.hive.planning;

import java.util.List;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;

/** What rules about a scan ask of the operators of a plan. */
final class Operators {
  private Operators() {}

  /** Returns the operator that takes all rows of another one; null if there are several or none. */
  static Operator<? extends OperatorDesc> onlyChild(Operator<? extends OperatorDesc> operator) {
    List<Operator<? extends OperatorDesc>> children = operator.getChildOperators();
    return children != null && children.size() == 1 ? children.get(0) : null;
  }

  /** Returns whether a scan passes on all rows of its table. */
  static boolean returnsAll(TableScanDesc scan) {
    return scan.getRowLimit() < 0 && scan.getTableSample() == null;
  }
}
