package io.pyhudi.hive.predicate;

import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PredicateOperator;
import io.pyhudi.hive.protocol.TruthValue;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.io.sarg.ConvertAstToSearchArg;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBetween;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPAnd;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqual;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqualNS;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqualOrGreaterThan;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqualOrLessThan;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPGreaterThan;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPLessThan;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNot;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNotEqual;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNotEqualNS;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNotNull;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPNull;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPOr;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;

/**
 * Encodes a scan's filter as nodes of the protocol.
 *
 * <p>AND, OR and NOT keep their shape. Each condition below them is converted by Hive's
 * SearchArgument if that is exactly equivalent, else it is encoded as a comparison of typed terms,
 * else it is UNKNOWN. The encoded filter is never stronger than the original one, in either
 * direction: UNKNOWN may be true, false or null.
 */
public final class FilterEncoder {
  private static final int MAX_DEPTH = 50;
  private static final int MAX_OPERANDS = 100_000;

  private final Configuration conf;
  private final Terms terms;
  private final NodeList nodes = new NodeList();

  private FilterEncoder(Configuration conf, Set<String> opaqueColumns) {
    this.conf = conf;
    this.terms = new Terms(nodes, opaqueColumns);
  }

  /**
   * Encodes a filter; never fails.
   *
   * @param opaqueColumns lower-case names of columns whose values differ from those in the files
   * @return nodes in post-order, the last one the root
   */
  public static List<Node> encode(
      ExprNodeDesc filter, Configuration conf, Set<String> opaqueColumns) {
    FilterEncoder encoder = new FilterEncoder(conf, opaqueColumns);
    encoder.predicate(filter, 0);
    return encoder.nodes.nodes();
  }

  /** Returns the filter of a scan without one: nodes of a condition that every row satisfies. */
  public static List<Node> ofAllRows() {
    NodeList nodes = new NodeList();
    nodes.constant(TruthValue.YES);
    return nodes.nodes();
  }

  /** Returns whether an encoded filter says nothing at all. */
  public static boolean isUnknown(List<Node> filter) {
    return NodeList.isUnknown(filter);
  }

  private int predicate(ExprNodeDesc expression, int depth) {
    int start = nodes.size();
    try {
      if (depth > MAX_DEPTH) {
        throw new InexpressibleException("nested too deeply");
      }
      if (expression instanceof ExprNodeGenericFuncDesc) {
        return function((ExprNodeGenericFuncDesc) expression, depth);
      }
      if (expression instanceof ExprNodeConstantDesc) {
        return nodes.constant(truth(((ExprNodeConstantDesc) expression).getValue()));
      }
      return isTrue(expression);
    } catch (InexpressibleException | RuntimeException e) {
      nodes.truncate(start);
      return nodes.unknown("Hive alone evaluates " + textOf(expression));
    }
  }

  private static String textOf(ExprNodeDesc expression) {
    try {
      return expression.getExprString();
    } catch (RuntimeException e) {
      return expression.getClass().getSimpleName();
    }
  }

  private static TruthValue truth(Object value) throws InexpressibleException {
    if (value == null) {
      return TruthValue.NULL;
    }
    if (value instanceof Boolean) {
      return (Boolean) value ? TruthValue.YES : TruthValue.NO;
    }
    throw new InexpressibleException(value.toString());
  }

  /** Encodes a boolean column or field that is used as a predicate. */
  private int isTrue(ExprNodeDesc expression) throws InexpressibleException {
    if (!TypeInfoFactory.booleanTypeInfo.equals(expression.getTypeInfo())) {
      throw new InexpressibleException(expression.getTypeString());
    }
    int term = terms.term(expression);
    int literal = nodes.literal(Literals.of(true, TypeInfoFactory.booleanTypeInfo));
    return nodes.leaf(PredicateOperator.EQUALS, Arrays.asList(term, literal));
  }

  private int function(ExprNodeGenericFuncDesc expression, int depth)
      throws InexpressibleException {
    GenericUDF function = expression.getGenericUDF();
    List<ExprNodeDesc> children = expression.getChildren();
    if (function instanceof GenericUDFOPAnd || function instanceof GenericUDFOPOr) {
      return nodes.tree(
          function instanceof GenericUDFOPAnd ? NodeKind.AND : NodeKind.OR,
          predicates(operandsOfChain(expression), depth));
    }
    if (function instanceof GenericUDFOPNot) {
      return nodes.tree(NodeKind.NOT, predicates(children, depth));
    }
    if (function instanceof GenericUDFIn && children.get(0) instanceof ExprNodeColumnDesc) {
      ExprNodeColumnDesc column = (ExprNodeColumnDesc) children.get(0);
      KeyList keys = KeyList.of(children.subList(1, children.size()), column.getTypeInfo());
      if (keys != null) {
        return nodes.keys(terms.pathOf(column), typeOf(column), keys);
      }
    }
    if (children.size() > MAX_OPERANDS) {
      throw new InexpressibleException("more operands than a service accepts");
    }
    Comparability.checkNullSafe(function, children);
    int start = nodes.size();
    try {
      return searchArgument(expression);
    } catch (InexpressibleException | RuntimeException e) {
      nodes.truncate(start);
      return comparison(expression, function, children);
    }
  }

  /**
   * Returns the operands of a chain of one connective from left to right, flattening any nesting.
   */
  private static List<ExprNodeDesc> operandsOfChain(ExprNodeGenericFuncDesc chain) {
    Class<?> connective = chain.getGenericUDF().getClass();
    List<ExprNodeDesc> operands = new ArrayList<>();
    Deque<ExprNodeDesc> open = new ArrayDeque<>();
    open.push(chain);
    while (!open.isEmpty()) {
      ExprNodeDesc expression = open.pop();
      if (expression instanceof ExprNodeGenericFuncDesc
          && ((ExprNodeGenericFuncDesc) expression).getGenericUDF().getClass() == connective) {
        List<ExprNodeDesc> children = expression.getChildren();
        for (int i = children.size() - 1; i >= 0; i--) {
          open.push(children.get(i));
        }
      } else {
        operands.add(expression);
      }
    }
    return operands;
  }

  private List<Integer> predicates(List<ExprNodeDesc> expressions, int depth) {
    List<Integer> indexes = new ArrayList<>();
    for (ExprNodeDesc expression : expressions) {
      indexes.add(predicate(expression, depth + 1));
    }
    return indexes;
  }

  /**
   * Encodes a condition on one plain column and constants of its own type by Hive's SearchArgument.
   */
  private int searchArgument(ExprNodeGenericFuncDesc expression) throws InexpressibleException {
    ExprNodeColumnDesc column = null;
    List<ExprNodeConstantDesc> constants = new ArrayList<>();
    List<ExprNodeDesc> children = expression.getChildren();
    boolean between = expression.getGenericUDF() instanceof GenericUDFBetween;
    if (between && isInverted(children.get(0))) {
      throw new InexpressibleException("Hive 3.1 drops the NOT");
    }
    for (ExprNodeDesc child : between ? children.subList(1, children.size()) : children) {
      if (child instanceof ExprNodeConstantDesc) {
        constants.add((ExprNodeConstantDesc) child);
      } else if (child instanceof ExprNodeColumnDesc && column == null) {
        column = (ExprNodeColumnDesc) child;
      } else {
        throw new InexpressibleException(child.getClass().getSimpleName());
      }
    }
    if (column == null || isOrderOfFloats(expression, column)) {
      throw new InexpressibleException("not a condition on a column");
    }
    List<Literal> literals = new ArrayList<>();
    for (ExprNodeConstantDesc constant : constants) {
      if (!Comparability.isDirect(column.getTypeInfo(), constant.getTypeInfo())) {
        throw new InexpressibleException("another type");
      }
      literals.add(Literals.of(constant.getValue(), constant.getTypeInfo()));
    }
    SearchArgument argument = ConvertAstToSearchArg.create(conf, expression);
    if (argument.getExpression().toString().contains("YES_NO_NULL")) {
      throw new InexpressibleException("not expressible as a search argument");
    }
    return new SearchArguments(nodes, terms.pathOf(column), typeOf(column), literals)
        .encode(argument);
  }

  /** x > 1 and 1 < x are not NOT x <= 1 when x is NaN; both are sent as 1 < x. */
  private static boolean isOrderOfFloats(ExprNodeGenericFuncDesc expression, ExprNodeDesc column) {
    GenericUDF function = expression.getGenericUDF();
    return Comparability.isFloating(column.getTypeInfo())
        && (function instanceof GenericUDFOPLessThan
            || function instanceof GenericUDFOPEqualOrLessThan
            || function instanceof GenericUDFOPGreaterThan
            || function instanceof GenericUDFOPEqualOrGreaterThan);
  }

  private int comparison(
      ExprNodeGenericFuncDesc expression, GenericUDF function, List<ExprNodeDesc> children)
      throws InexpressibleException {
    // GenericUDFOPEqualNS extends GenericUDFOPEqual, GenericUDFOPNotEqualNS GenericUDFOPNotEqual.
    if (function instanceof GenericUDFOPEqualNS) {
      return terms.leaf(PredicateOperator.NULL_SAFE_EQUALS, children);
    }
    if (function instanceof GenericUDFOPEqual) {
      return terms.leaf(PredicateOperator.EQUALS, children);
    }
    if (function instanceof GenericUDFOPNotEqualNS) {
      return not(terms.leaf(PredicateOperator.NULL_SAFE_EQUALS, children));
    }
    if (function instanceof GenericUDFOPNotEqual) {
      return not(terms.leaf(PredicateOperator.EQUALS, children));
    }
    if (function instanceof GenericUDFOPLessThan) {
      return terms.leaf(PredicateOperator.LESS_THAN, children);
    }
    if (function instanceof GenericUDFOPEqualOrLessThan) {
      return terms.leaf(PredicateOperator.LESS_THAN_EQUALS, children);
    }
    if (function instanceof GenericUDFOPGreaterThan) {
      return terms.leaf(PredicateOperator.LESS_THAN, reversed(children));
    }
    if (function instanceof GenericUDFOPEqualOrGreaterThan) {
      return terms.leaf(PredicateOperator.LESS_THAN_EQUALS, reversed(children));
    }
    if (function instanceof GenericUDFIn && children.size() == 1) {
      // The keys of a join's other side, which is empty.
      return nodes.constant(TruthValue.NO_NULL);
    }
    if (function instanceof GenericUDFIn) {
      return terms.leaf(PredicateOperator.IN, children);
    }
    if (function instanceof GenericUDFBetween) {
      int leaf = terms.leaf(PredicateOperator.BETWEEN, children.subList(1, children.size()));
      return isInverted(children.get(0)) ? not(leaf) : leaf;
    }
    if (function instanceof GenericUDFOPNull) {
      return terms.leaf(PredicateOperator.IS_NULL, children);
    }
    if (function instanceof GenericUDFOPNotNull) {
      return not(terms.leaf(PredicateOperator.IS_NULL, children));
    }
    if (!TypeInfoFactory.booleanTypeInfo.equals(expression.getTypeInfo())) {
      throw new InexpressibleException(expression.getTypeString());
    }
    return terms.term(expression);
  }

  private int not(int index) {
    return nodes.tree(NodeKind.NOT, Collections.singletonList(index));
  }

  private static String typeOf(ExprNodeDesc column) {
    return column.getTypeString().toLowerCase(Locale.ROOT);
  }

  private static List<ExprNodeDesc> reversed(List<ExprNodeDesc> children) {
    List<ExprNodeDesc> reversed = new ArrayList<>(children);
    Collections.reverse(reversed);
    return reversed;
  }

  private static boolean isInverted(ExprNodeDesc flag) throws InexpressibleException {
    Object value =
        flag instanceof ExprNodeConstantDesc ? ((ExprNodeConstantDesc) flag).getValue() : null;
    if (!(value instanceof Boolean)) {
      throw new InexpressibleException("BETWEEN without its flag");
    }
    return (Boolean) value;
  }
}
