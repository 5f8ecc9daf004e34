package io.pyhudi.hive.planning;

import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;

/** What an operator keeps that drops rows beyond the first keys of an order. */
public final class FirstKeys {
  private final int count;
  private final ExprNodeDesc column;
  private final String order;
  private final String nullOrder;

  /**
   * @param count how many keys are kept
   * @param column the first key column, over the columns of the operator's input
   * @param order the directions of the key columns, as those of a ReduceSinkDesc
   * @param nullOrder the places of NULL
   */
  public FirstKeys(int count, ExprNodeDesc column, String order, String nullOrder) {
    this.count = count;
    this.column = column;
    this.order = order;
    this.nullOrder = nullOrder;
  }

  int count() {
    return count;
  }

  ExprNodeDesc column() {
    return column;
  }

  String order() {
    return order;
  }

  String nullOrder() {
    return nullOrder;
  }
}
