package io.pyhudi.hive.planning;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;

/** The projections between a scan and an operator. */
final class Projections {
  private final Deque<SelectDesc> lastFirst = new ArrayDeque<>();

  /** Adds the next projection after the scan. */
  void add(SelectDesc projection) {
    lastFirst.push(projection);
  }

  boolean isEmpty() {
    return lastFirst.isEmpty();
  }

  /**
   * Returns what an expression over the projections is over the scan: a column or a constant if it
   * is one of these; null if it is computed of a projected column.
   */
  ExprNodeDesc overScan(ExprNodeDesc expression) {
    ExprNodeDesc found = expression;
    for (SelectDesc projection : lastFirst) {
      if (found instanceof ExprNodeColumnDesc && !projection.isSelStarNoCompute()) {
        String name = ((ExprNodeColumnDesc) found).getColumn();
        int position = projection.getOutputColumnNames().indexOf(name);
        found = position < 0 ? null : projection.getColList().get(position);
      }
    }
    return found;
  }

  /** Returns the column of the scan that an expression over the projections is; else null. */
  ExprNodeColumnDesc columnOfScan(ExprNodeDesc expression) {
    ExprNodeDesc found = overScan(expression);
    boolean isColumn =
        found instanceof ExprNodeColumnDesc
            && !((ExprNodeColumnDesc) found).getIsPartitionColOrVirtualCol();
    return isColumn ? (ExprNodeColumnDesc) found : null;
  }
}
