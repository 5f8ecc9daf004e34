package io.pyhudi.truth;

import org.apache.hadoop.hive.ql.exec.ExprNodeEvaluator;
import org.apache.hadoop.hive.ql.exec.ExprNodeEvaluatorFactory;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.BooleanObjectInspector;
import org.apache.hadoop.io.ArrayWritable;

/** Row by row, as a FilterOperator of the fetch task or of a task without vectors does it. */
record RowEvaluation(Rows rows, Session session) implements Evaluation {
  @Override
  public byte[] truths(ExprNodeDesc predicate) throws HiveException {
    ExprNodeEvaluator<?> evaluator = ExprNodeEvaluatorFactory.get(predicate, session.job());
    BooleanObjectInspector truth = (BooleanObjectInspector) evaluator.initialize(rows.inspector());
    ArrayWritable[] all = rows.rows();
    byte[] truths = new byte[all.length];
    for (int i = 0; i < truths.length; i++) {
      truths[i] = truth(evaluator, truth, all[i]);
    }
    return truths;
  }

  private static byte truth(
      ExprNodeEvaluator<?> evaluator, BooleanObjectInspector truth, ArrayWritable row) {
    try {
      Object value = evaluator.evaluate(row);
      return value == null ? NULL : truth.get(value) ? TRUE : FALSE;
    } catch (HiveException | RuntimeException e) {
      return FAILED;
    }
  }
}
