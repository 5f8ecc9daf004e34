package io.pyhudi.truth;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.hive.common.type.DataTypePhysicalVariation;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DateColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorAssignRow;
import org.apache.hadoop.hive.ql.exec.vector.VectorExpressionDescriptor.Mode;
import org.apache.hadoop.hive.ql.exec.vector.VectorizationContext;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedBatchUtil;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.exec.vector.expressions.ConstantVectorExpression;
import org.apache.hadoop.hive.ql.exec.vector.expressions.IdentityExpression;
import org.apache.hadoop.hive.ql.exec.vector.expressions.VectorExpression;
import org.apache.hadoop.hive.ql.exec.vector.udf.VectorUDFAdaptor;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;

/**
 * By vectors, as a VectorFilterOperator (Mode.FILTER) or a VectorSelectOperator does it.
 *
 * <p>A filter only tells which rows are TRUE; the others are FALSE here.
 *
 * <p>The batches are such as Hive's Parquet reader fills (VectorizedPrimitiveColumnReader): a
 * column of equal values without nulls is a repeated one, for which expressions have code of their
 * own. So batches of one row show other code than large ones.
 */
final class VectorEvaluation implements Evaluation {
  private final Session session;
  private final Mode mode;
  private final int batchSize;
  private final List<String> names;
  private final List<TypeInfo> types;
  private final Object[][] columns;
  private final int size;
  private final VectorAssignRow assign = new VectorAssignRow();
  private final ColumnVector[] inputs;

  VectorEvaluation(Rows rows, Session session, Mode mode, int batchSize) throws HiveException {
    this.session = session;
    this.mode = mode;
    this.batchSize = batchSize;
    names = rows.type().getAllStructFieldNames();
    types = rows.type().getAllStructFieldTypeInfos();
    columns = rows.columns();
    size = rows.rows().length;
    inputs = new ColumnVector[types.size()];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = VectorizedBatchUtil.createColumnVector(types.get(i));
    }
    assign.init(rows.inspector());
  }

  @Override
  public byte[] truths(ExprNodeDesc predicate) throws HiveException {
    Set<Integer> used = columnsOf(predicate);
    VectorizationContext context =
        new VectorizationContext(
            "truth",
            names,
            types,
            Collections.nCopies(types.size(), DataTypePhysicalVariation.NONE),
            session.conf());
    VectorExpression expression = vectorised(predicate, context);
    if (isAdapted(expression)) {
      throw new HiveException("no vectorised form: " + expression);
    }
    VectorExpression.doTransientInit(expression, session.job());
    expression.init(session.job());
    VectorizedRowBatch batch = batch(context);
    byte[] truths = new byte[size];
    for (int start = 0; start < size; start += batchSize) {
      int count = Math.min(batchSize, size - start);
      fill(batch, used, start, count);
      try {
        if (mode == Mode.FILTER) {
          filter(expression, batch, truths, start);
        } else {
          project(expression, batch, truths, start);
        }
      } catch (HiveException | RuntimeException e) {
        Arrays.fill(truths, start, start + count, FAILED);
      }
    }
    return truths;
  }

  /** HiveServer2 vectorises, before it writes the plan for its tasks. */
  private VectorExpression vectorised(ExprNodeDesc predicate, VectorizationContext context)
      throws HiveException {
    session.enterCompiler();
    try {
      return session.sent(context.getVectorExpression(predicate, mode));
    } finally {
      session.enterEvaluation();
    }
  }

  private Set<Integer> columnsOf(ExprNodeDesc predicate) {
    List<String> found = predicate.getCols();
    return found == null
        ? Collections.emptySet()
        : found.stream().map(names::indexOf).collect(Collectors.toSet());
  }

  /** Whether nothing but VectorUDFAdaptor works in it, which calls what rows are evaluated by. */
  private static boolean isAdapted(VectorExpression expression) {
    if (expression instanceof VectorUDFAdaptor) {
      VectorExpression[] children = expression.getChildExpressions();
      return children == null || Arrays.stream(children).allMatch(VectorEvaluation::isTrivial);
    }
    return false;
  }

  private static boolean isTrivial(VectorExpression expression) {
    return expression instanceof IdentityExpression
        || expression instanceof ConstantVectorExpression
        || isAdapted(expression);
  }

  private VectorizedRowBatch batch(VectorizationContext context) {
    String[] scratch = context.getScratchColumnTypeNames();
    DataTypePhysicalVariation[] variations = context.getScratchDataTypePhysicalVariations();
    VectorizedRowBatch batch = new VectorizedRowBatch(inputs.length + scratch.length);
    System.arraycopy(inputs, 0, batch.cols, 0, inputs.length);
    for (int i = 0; i < scratch.length; i++) {
      batch.cols[inputs.length + i] =
          VectorizedBatchUtil.createColumnVector(
              TypeInfoUtils.getTypeInfoFromTypeString(scratch[i]), variations[i]);
    }
    return batch;
  }

  private void fill(VectorizedRowBatch batch, Set<Integer> used, int start, int count) {
    batch.selectedInUse = false;
    batch.size = count;
    for (int i = inputs.length; i < batch.cols.length; i++) {
      batch.cols[i].reset();
    }
    for (int column : used) {
      ColumnVector vector = inputs[column];
      Object[] values = columns[column];
      vector.reset();
      boolean repeats = true;
      for (int i = 0; i < count; i++) {
        Object value = values[start + i];
        assign.assignRowColumn(batch, i, column, value);
        repeats = repeats && value != null && value.equals(values[start]);
      }
      vector.isRepeating = repeats;
      if (vector instanceof DateColumnVector dates) {
        dates.setUsingProlepticCalendar(true);
      } else if (vector instanceof TimestampColumnVector times) {
        times.setUsingProlepticCalendar(true);
      }
    }
  }

  private static void filter(
      VectorExpression expression, VectorizedRowBatch batch, byte[] truths, int start)
      throws HiveException {
    if (expression instanceof ConstantVectorExpression constant) {
      Arrays.fill(truths, start, start + batch.size, constant.getLongValue() == 1 ? TRUE : FALSE);
      return;
    }
    expression.evaluate(batch);
    for (int i = 0; i < batch.size; i++) {
      truths[start + (batch.selectedInUse ? batch.selected[i] : i)] = TRUE;
    }
  }

  private static void project(
      VectorExpression expression, VectorizedRowBatch batch, byte[] truths, int start)
      throws HiveException {
    expression.evaluate(batch);
    LongColumnVector truth = (LongColumnVector) batch.cols[expression.getOutputColumnNum()];
    for (int i = 0; i < batch.size; i++) {
      int at = truth.isRepeating ? 0 : i;
      boolean isNull = !truth.noNulls && truth.isNull[at];
      truths[start + i] = isNull ? NULL : truth.vector[at] == 0 ? FALSE : TRUE;
    }
  }
}
