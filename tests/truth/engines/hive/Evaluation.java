package io.pyhudi.truth;

import org.apache.hadoop.hive.ql.exec.vector.VectorExpressionDescriptor.Mode;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;

/** A way in which Hive evaluates a predicate over some rows. */
interface Evaluation {
  /** Whether by rows or by vectors, of how many rows at most, and by expressions of which mode. */
  enum Way {
    ROWS,
    VECTORS,
    VECTOR_FILTER,
    VECTORS_OF_ONE,
    VECTOR_FILTER_OF_ONE;

    Evaluation of(Rows rows, Session session) throws HiveException {
      return switch (this) {
        case ROWS -> new RowEvaluation(rows, session);
        case VECTORS -> new VectorEvaluation(rows, session, Mode.PROJECTION, BATCH);
        case VECTOR_FILTER -> new VectorEvaluation(rows, session, Mode.FILTER, BATCH);
        case VECTORS_OF_ONE -> new VectorEvaluation(rows, session, Mode.PROJECTION, 1);
        case VECTOR_FILTER_OF_ONE -> new VectorEvaluation(rows, session, Mode.FILTER, 1);
      };
    }

    private static final int BATCH = VectorizedRowBatch.DEFAULT_SIZE;
  }

  byte FALSE = 0;
  byte TRUE = 1;
  byte NULL = 2;

  /** The evaluation fails: a query that reads the row has no result. */
  byte FAILED = 3;

  /**
   * FALSE, TRUE, NULL or FAILED for each row.
   *
   * @param predicate gives a boolean; it may be changed
   */
  byte[] truths(ExprNodeDesc predicate) throws HiveException;
}
