package io.pyhudi.hive.predicate;

import java.util.List;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqualNS;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNotEqualNS;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector.PrimitiveCategory;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;

/**
 * Determines when Hive compares two types directly, and to which type it converts them otherwise.
 */
final class Comparability {
  private Comparability() {}

  /** Returns whether values of the two types are compared without any conversion. */
  static boolean isDirect(TypeInfo left, TypeInfo right) {
    PrimitiveCategory a = category(left);
    PrimitiveCategory b = category(right);
    return a != null && (a == b || (isText(a) && isText(b)));
  }

  /**
   * Rejects {@code <=>} of decimals. Hive's vectorised execution has no such operator; its
   * replacement returns rows that are not equal.
   */
  static void checkNullSafe(GenericUDF function, List<ExprNodeDesc> operands)
      throws InexpressibleException {
    if (function instanceof GenericUDFOPEqualNS || function instanceof GenericUDFOPNotEqualNS) {
      for (ExprNodeDesc operand : operands) {
        if (category(operand.getTypeInfo()) == PrimitiveCategory.DECIMAL) {
          throw new InexpressibleException("<=> of decimals");
        }
      }
    }
  }

  private static boolean isText(PrimitiveCategory category) {
    return category == PrimitiveCategory.STRING || category == PrimitiveCategory.VARCHAR;
  }

  static boolean isFloating(TypeInfo type) {
    PrimitiveCategory category = category(type);
    return category == PrimitiveCategory.FLOAT || category == PrimitiveCategory.DOUBLE;
  }

  /**
   * Returns the type in which Hive compares two numbers of different types.
   *
   * @return null if they are not both numbers, or if Hive's execution modes do not agree (row mode
   *     compares a float with another type as float, vectorised mode as double)
   */
  static PrimitiveTypeInfo common(TypeInfo left, TypeInfo right) {
    if (!isNumber(left) || !isNumber(right)) {
      return null;
    }
    TypeInfo common = FunctionRegistry.getCommonClassForComparison(left, right);
    PrimitiveCategory category = common == null ? null : category(common);
    boolean involvesFloat =
        category(left) == PrimitiveCategory.FLOAT || category(right) == PrimitiveCategory.FLOAT;
    return category == null || category == PrimitiveCategory.FLOAT || involvesFloat
        ? null
        : (PrimitiveTypeInfo) common;
  }

  private static boolean isNumber(TypeInfo type) {
    PrimitiveCategory category = category(type);
    if (category == null) {
      return false;
    }
    switch (category) {
      case BYTE:
      case SHORT:
      case INT:
      case LONG:
      case FLOAT:
      case DOUBLE:
      case DECIMAL:
        return true;
      default:
        return false;
    }
  }

  private static PrimitiveCategory category(TypeInfo type) {
    return type instanceof PrimitiveTypeInfo
        ? ((PrimitiveTypeInfo) type).getPrimitiveCategory()
        : null;
  }
}
