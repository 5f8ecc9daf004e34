package io.pyhudi.hive.predicate;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.hadoop.hive.common.type.Date;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.ql.exec.FilterOperator;
import org.apache.hadoop.hive.ql.exec.GroupByOperator;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.ReduceSinkOperator;
import org.apache.hadoop.hive.ql.exec.SelectOperator;
import org.apache.hadoop.hive.ql.exec.UDFArgumentException;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicListDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.JoinDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBaseCompare;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBetween;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFCoalesce;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPAnd;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqualNS;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNotEqualNS;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNotNull;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes NULL harmless among the keys of a join, which equals nothing, but makes Hive 4 fail ({@code
 * DynamicPartitionPruner.prunePartitionSingleSource} asks a constant for its class).
 *
 * <p>Where no condition of the query excludes it, as for keys that come from another join, Hive is
 * made to collect another value in its place. One key more excludes no file, and keeps one only if
 * that file may have this value. Of joins for which NULL equals NULL ({@code <=>}) it is no key too
 * many, and the scan is not restricted.
 */
public final class NullKeys {
  private static final Logger LOG = LoggerFactory.getLogger(NullKeys.class);

  /** Which expression Hive collects, if it is not that of the join: it has no setter. */
  private static final String COLLECTED = "target";

  /** A day (in 1696) that is rarely stored, of the calendar that all readers agree on. */
  private static final int RARE_DAY = -100_000;

  private static final long MILLIS_PER_DAY = 86_400_000;

  private NullKeys() {}

  /**
   * Makes sure that none of the keys of a condition is NULL. Returns whether that is certain.
   *
   * @param condition that {@link DynamicPruning#mayRestrict} accepts, as Hive has it
   */
  public static boolean replace(ExprNodeDesc condition) {
    ExprNodeDynamicListDesc keys = (ExprNodeDynamicListDesc) condition.getChildren().get(1);
    ReduceSinkOperator side = DynamicPruning.sideOf(condition);
    ExprNodeDesc key = DynamicPruning.keyOf(condition);
    return areExcluded(side, key) || (!mayEqualNull(condition) && collectAnother(keys, key));
  }

  /**
   * Returns whether NULL equals NULL for the join that a condition comes from: then files with NULL
   * are needed.
   */
  public static boolean mayEqualNull(ExprNodeDesc condition) {
    return DynamicPruning.sideOf(condition).getChildOperators().stream()
        .anyMatch(NullKeys::mayJoinNull);
  }

  private static boolean mayJoinNull(Operator<? extends OperatorDesc> join) {
    if (!(join.getConf() instanceof JoinDesc)) {
      return true;
    }
    boolean[] nullSafes = ((JoinDesc) join.getConf()).getNullSafes();
    return nullSafes != null
        && IntStream.range(0, nullSafes.length).anyMatch(position -> nullSafes[position]);
  }

  private static boolean collectAnother(ExprNodeDynamicListDesc keys, ExprNodeDesc key) {
    try {
      ExprNodeDesc rare =
          new ExprNodeConstantDesc(key.getTypeInfo(), rare((PrimitiveTypeInfo) key.getTypeInfo()));
      ExprNodeDesc collected =
          ExprNodeGenericFuncDesc.newInstance(new GenericUDFCoalesce(), Arrays.asList(key, rare));
      Field target = ExprNodeDynamicListDesc.class.getDeclaredField(COLLECTED);
      target.setAccessible(true);
      target.set(keys, collected);
      return true;
    } catch (ReflectiveOperationException | UDFArgumentException | RuntimeException e) {
      LOG.warn("keys of a join that may be NULL restrict no scan in this version of Hive", e);
      return false;
    }
  }

  private static Object rare(PrimitiveTypeInfo type) {
    switch (type.getPrimitiveCategory()) {
      case BYTE:
        return Byte.MIN_VALUE;
      case SHORT:
        return Short.MIN_VALUE;
      case INT:
        return Integer.MIN_VALUE;
      case LONG:
        return Long.MIN_VALUE;
      case STRING:
        return "";
      case DATE:
        return Date.ofEpochDay(RARE_DAY);
      case TIMESTAMP:
        return Timestamp.ofEpochMilli(RARE_DAY * MILLIS_PER_DAY);
      default:
        throw new IllegalArgumentException(type.getTypeName());
    }
  }

  /** Returns whether an operator before the join removes the rows whose key is NULL. */
  static boolean areExcluded(ReduceSinkOperator side, ExprNodeDesc joined) {
    ExprNodeDesc key = joined;
    Operator<? extends OperatorDesc> operator = side;
    while (key instanceof ExprNodeColumnDesc && operator.getNumParent() == 1) {
      operator = operator.getParentOperators().get(0);
      if (operator instanceof FilterOperator) {
        if (rejectsNull(((FilterOperator) operator).getConf().getPredicate(), key)) {
          return true;
        }
      } else if (isRenaming(operator) && operator.getColumnExprMap() != null) {
        key = operator.getColumnExprMap().get(((ExprNodeColumnDesc) key).getColumn());
      } else {
        return false;
      }
    }
    return key instanceof ExprNodeConstantDesc && ((ExprNodeConstantDesc) key).getValue() != null;
  }

  private static boolean isRenaming(Operator<? extends OperatorDesc> operator) {
    return operator instanceof SelectOperator
        || operator instanceof GroupByOperator
        || operator instanceof ReduceSinkOperator;
  }

  private static boolean rejectsNull(ExprNodeDesc predicate, ExprNodeDesc key) {
    if (!(predicate instanceof ExprNodeGenericFuncDesc)) {
      return false;
    }
    GenericUDF function = ((ExprNodeGenericFuncDesc) predicate).getGenericUDF();
    List<ExprNodeDesc> children = predicate.getChildren();
    if (function instanceof GenericUDFOPAnd) {
      return children.stream().anyMatch(child -> rejectsNull(child, key));
    }
    if (!children.stream().allMatch(NullKeys::isPlain)) {
      // Hive may later remove conditions whose values are known only at run time.
      return false;
    }
    if (function instanceof GenericUDFBetween) {
      return children.get(1).isSame(key);
    }
    if (function instanceof GenericUDFOPNotNull || function instanceof GenericUDFIn) {
      return children.get(0).isSame(key);
    }
    return function instanceof GenericUDFBaseCompare
        && !(function instanceof GenericUDFOPEqualNS)
        && !(function instanceof GenericUDFOPNotEqualNS)
        && children.stream().anyMatch(child -> child.isSame(key));
  }

  private static boolean isPlain(ExprNodeDesc operand) {
    return operand instanceof ExprNodeColumnDesc || operand instanceof ExprNodeConstantDesc;
  }
}
