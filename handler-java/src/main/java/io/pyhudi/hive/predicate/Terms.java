package io.pyhudi.hive.predicate;

import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.PredicateOperator;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeFieldDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;

/** Encodes the values in a filter: columns, fields, constants and functions of them. */
final class Terms {
  private static final int MAX_DEPTH = 40;

  private final NodeList nodes;
  private final Set<String> opaqueColumns;

  Terms(NodeList nodes, Set<String> opaqueColumns) {
    this.nodes = nodes;
    this.opaqueColumns = opaqueColumns;
  }

  /** Encodes a comparison of terms. Hive's implicit conversions become explicit casts. */
  int leaf(PredicateOperator op, List<ExprNodeDesc> operands) throws InexpressibleException {
    TypeInfo common = null;
    for (ExprNodeDesc operand : operands) {
      common = common == null ? operand.getTypeInfo() : join(common, operand.getTypeInfo());
    }
    if (!(common instanceof PrimitiveTypeInfo) && op != PredicateOperator.IS_NULL) {
      throw new InexpressibleException("a comparison of " + common);
    }
    List<Integer> children = new ArrayList<>();
    for (ExprNodeDesc operand : operands) {
      children.add(operand(operand, common));
    }
    return nodes.leaf(op, children);
  }

  private static TypeInfo join(TypeInfo left, TypeInfo right) throws InexpressibleException {
    if (Comparability.isDirect(left, right)) {
      return left;
    }
    TypeInfo common = Comparability.common(left, right);
    if (common == null) {
      throw new InexpressibleException("comparison of " + left + " with " + right);
    }
    return common;
  }

  private int operand(ExprNodeDesc operand, TypeInfo common) throws InexpressibleException {
    if (operand.getTypeInfo().equals(common)
        || Comparability.isDirect(operand.getTypeInfo(), common)) {
      return term(operand);
    }
    if (operand instanceof ExprNodeConstantDesc) {
      Literal literal = literal((ExprNodeConstantDesc) operand);
      Literal widened = Literals.widen(literal, (PrimitiveTypeInfo) common);
      if (widened != null) {
        return nodes.literal(widened);
      }
    }
    int term = term(operand);
    return nodes.function("cast", common.getTypeName(), Collections.singletonList(term));
  }

  int term(ExprNodeDesc expression) throws InexpressibleException {
    return term(expression, 0);
  }

  private int term(ExprNodeDesc expression, int depth) throws InexpressibleException {
    if (depth > MAX_DEPTH) {
      throw new InexpressibleException("nested too deeply");
    }
    if (expression instanceof ExprNodeColumnDesc || expression instanceof ExprNodeFieldDesc) {
      return nodes.column(pathOf(expression), typeOf(expression));
    }
    if (expression instanceof ExprNodeConstantDesc) {
      return nodes.literal(literal((ExprNodeConstantDesc) expression));
    }
    if (expression instanceof ExprNodeGenericFuncDesc) {
      ExprNodeGenericFuncDesc function = (ExprNodeGenericFuncDesc) expression;
      Comparability.checkNullSafe(function.getGenericUDF(), function.getChildren());
      String name = Functions.nameOf(function.getGenericUDF());
      List<Integer> arguments = new ArrayList<>();
      for (ExprNodeDesc child : function.getChildren()) {
        arguments.add(term(child, depth + 1));
      }
      return nodes.function(name, typeOf(expression), arguments);
    }
    throw new InexpressibleException(expression.getClass().getSimpleName());
  }

  private static String typeOf(ExprNodeDesc expression) {
    return expression.getTypeString().toLowerCase(Locale.ROOT);
  }

  private static Literal literal(ExprNodeConstantDesc constant) throws InexpressibleException {
    return Literals.of(constant.getValue(), constant.getTypeInfo());
  }

  /** Returns the path of a column, or of a field inside structs (not inside arrays or maps). */
  List<String> pathOf(ExprNodeDesc expression) throws InexpressibleException {
    if (expression instanceof ExprNodeFieldDesc) {
      ExprNodeFieldDesc field = (ExprNodeFieldDesc) expression;
      if (Boolean.TRUE.equals(field.getIsList())) {
        throw new InexpressibleException("a field of each element");
      }
      List<String> path = new ArrayList<>(pathOf(field.getDesc()));
      path.add(field.getFieldName());
      return path;
    }
    if (!(expression instanceof ExprNodeColumnDesc)) {
      throw new InexpressibleException("a field of " + expression.getClass().getSimpleName());
    }
    ExprNodeColumnDesc column = (ExprNodeColumnDesc) expression;
    String name = column.getColumn().toLowerCase(Locale.ROOT);
    if (column.getIsPartitionColOrVirtualCol() || opaqueColumns.contains(name)) {
      throw new InexpressibleException("column " + name);
    }
    return Collections.singletonList(name);
  }
}
