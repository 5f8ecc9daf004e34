package io.pyhudi.hive.predicate;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBaseCompare;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBetween;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPAnd;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNot;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNotNull;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNull;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPOr;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector.PrimitiveCategory;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;

/**
 * Conditions with one result for a row, whoever evaluates them: Hive row by row, or in batches by
 * other code. They compare columns and constants of one type.
 */
public final class ExactConditions {
  private static final Set<PrimitiveCategory> TYPES =
      EnumSet.of(
          PrimitiveCategory.BOOLEAN,
          PrimitiveCategory.BYTE,
          PrimitiveCategory.SHORT,
          PrimitiveCategory.INT,
          PrimitiveCategory.LONG,
          PrimitiveCategory.DECIMAL,
          PrimitiveCategory.STRING,
          PrimitiveCategory.DATE,
          PrimitiveCategory.TIMESTAMP);

  private ExactConditions() {}

  public static boolean isExact(ExprNodeDesc condition) {
    if (!(condition instanceof ExprNodeGenericFuncDesc)) {
      return false;
    }
    GenericUDF function = ((ExprNodeGenericFuncDesc) condition).getGenericUDF();
    List<ExprNodeDesc> children = condition.getChildren();
    if (function instanceof GenericUDFOPAnd
        || function instanceof GenericUDFOPOr
        || function instanceof GenericUDFOPNot) {
      return children.stream().allMatch(ExactConditions::isExact);
    }
    if (function instanceof GenericUDFBetween) {
      // The first operand says whether the condition is negated.
      return areComparable(children.subList(1, children.size()));
    }
    return (function instanceof GenericUDFBaseCompare
            || function instanceof GenericUDFIn
            || function instanceof GenericUDFOPNull
            || function instanceof GenericUDFOPNotNull)
        && areComparable(children);
  }

  /** Returns whether a condition is a column's IS NOT NULL. */
  public static boolean isNotNull(ExprNodeDesc condition) {
    return condition instanceof ExprNodeGenericFuncDesc
        && ((ExprNodeGenericFuncDesc) condition).getGenericUDF() instanceof GenericUDFOPNotNull;
  }

  private static boolean areComparable(List<ExprNodeDesc> operands) {
    TypeInfo type = operands.get(0).getTypeInfo();
    return type instanceof PrimitiveTypeInfo
        && TYPES.contains(((PrimitiveTypeInfo) type).getPrimitiveCategory())
        && operands.stream().allMatch(operand -> isPlain(operand) && isOf(type, operand));
  }

  private static boolean isPlain(ExprNodeDesc operand) {
    return operand instanceof ExprNodeConstantDesc
        || operand instanceof ExprNodeColumnDesc
            && !((ExprNodeColumnDesc) operand).getIsPartitionColOrVirtualCol();
  }

  /** Decimals of different precision are compared by their values. */
  private static boolean isOf(TypeInfo type, ExprNodeDesc operand) {
    TypeInfo other = operand.getTypeInfo();
    return other instanceof PrimitiveTypeInfo
        && ((PrimitiveTypeInfo) other).getPrimitiveCategory()
            == ((PrimitiveTypeInfo) type).getPrimitiveCategory();
  }
}
