package io.pyhudi.hive.predicate;

import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.Node;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;

/** Builds Hive's expressions as its compiler does, and shows encoded filters as text. */
final class Expressions {
  private Expressions() {}

  static TypeInfo type(String name) {
    return TypeInfoUtils.getTypeInfoFromTypeString(name);
  }

  static ExprNodeDesc column(String name, String type) {
    return new ExprNodeColumnDesc(type(type), name, "t", false);
  }

  static ExprNodeDesc constant(Object value, String type) {
    return new ExprNodeConstantDesc(type(type), value);
  }

  /** A call of a function by its name in Hive's registry. */
  static ExprNodeGenericFuncDesc call(String name, ExprNodeDesc... arguments) {
    try {
      return call(FunctionRegistry.getFunctionInfo(name).getGenericUDF(), arguments);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static ExprNodeGenericFuncDesc call(GenericUDF function, ExprNodeDesc... arguments) {
    try {
      return ExprNodeGenericFuncDesc.newInstance(function, Arrays.asList(arguments));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static String encode(ExprNodeDesc filter) {
    return encode(filter, Collections.emptySet());
  }

  static String encode(ExprNodeDesc filter, Set<String> opaque) {
    List<Node> nodes = FilterEncoder.encode(filter, new HiveConf(), opaque);
    return show(nodes, nodes.size() - 1);
  }

  private static String show(List<Node> nodes, int index) {
    Node node = nodes.get(index);
    String children =
        node.isSetChildren()
            ? node.getChildren().stream()
                .map(child -> show(nodes, child))
                .collect(Collectors.joining(", ", "(", ")"))
            : "";
    switch (node.getKind()) {
      case CONSTANT:
        return node.getTruth().name();
      case LEAF:
        return node.getOp() + children;
      case COLUMN:
        return String.join(".", node.getPath()) + ":" + node.getType();
      case LITERAL:
        return show(node.getLiteral());
      case FUNCTION:
        return node.getFunctionName() + children + ":" + node.getType();
      case UNKNOWN:
        return "UNKNOWN";
      default:
        return node.getKind() + children;
    }
  }

  static String show(Literal literal) {
    return value(literal) + ":" + literal.getType();
  }

  private static Object value(Literal literal) {
    if (literal.isSetBooleanValue()) {
      return literal.isBooleanValue();
    }
    if (literal.isSetIntegerValue()) {
      return literal.getIntegerValue();
    }
    if (literal.isSetDoubleValue()) {
      return literal.getDoubleValue();
    }
    if (literal.isSetStringValue()) {
      return "'" + literal.getStringValue() + "'";
    }
    if (literal.isSetBinaryValue()) {
      return Arrays.toString(literal.getBinaryValue());
    }
    if (literal.isSetUnscaledValue()) {
      return new BigDecimal(new BigInteger(literal.getUnscaledValue()), literal.getScale());
    }
    if (literal.isSetEpochDays()) {
      return literal.getEpochDays() + "d";
    }
    if (literal.isSetEpochSeconds()) {
      return literal.getEpochSeconds() + "s" + literal.getNanos() + "n";
    }
    return null;
  }
}
