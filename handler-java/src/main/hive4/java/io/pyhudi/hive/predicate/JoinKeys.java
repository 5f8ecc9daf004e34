package io.pyhudi.hive.predicate;

import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicListDesc;

/**
 * The keys of a join's other side, under a name that is the same in all of a query's plan.
 *
 * <p>Tez's shared work makes one of equal parts of a plan. Keys are equal to it if what they come
 * from is ({@code SharedWorkOptimizer.compareAndGatherOps}), and if the conditions have the same
 * text, in which Hive names the operator. So a subquery that is used several times would be
 * computed as often.
 */
public final class JoinKeys extends ExprNodeDynamicListDesc {
  private static final long serialVersionUID = 1;
  private static final String NAME = "keys of a join";

  /** For the serialisation of plans. */
  public JoinKeys() {}

  private JoinKeys(ExprNodeDynamicListDesc keys) {
    super(keys.getTypeInfo(), keys.getSource(), keys.getKeyIndex(), keys.getTarget());
  }

  /** Names the keys of a condition that {@link DynamicPruning#mayRestrict} accepts. */
  public static void nameIn(ExprNodeDesc condition) {
    ExprNodeDesc keys = condition.getChildren().get(1);
    condition.getChildren().set(1, new JoinKeys((ExprNodeDynamicListDesc) keys));
  }

  @Override
  public ExprNodeDesc clone() {
    return new JoinKeys(this);
  }

  @Override
  public String getExprString() {
    return NAME;
  }

  @Override
  public String toString() {
    return NAME;
  }
}
