package io.pyhudi.hive.predicate;

import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PredicateOperator;
import io.pyhudi.hive.protocol.TruthValue;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hive.ql.io.sarg.ExpressionTree;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;

/**
 * Converts Hive's SearchArgument to nodes.
 *
 * <p>A SearchArgument's own literals are not exact (a char is padded, a float widened, a date goes
 * through the JVM's zone), so the literals come from the original expression.
 */
final class SearchArguments {
  private final NodeList nodes;
  private final List<String> path;
  private final String type;
  private final List<Literal> literals;

  /**
   * @param path the one column that the SearchArgument is about
   * @param literals the expression's constants, in its order
   */
  SearchArguments(NodeList nodes, List<String> path, String type, List<Literal> literals) {
    this.nodes = nodes;
    this.path = path;
    this.type = type;
    this.literals = literals;
  }

  /** Adds the tree of a SearchArgument over the column. */
  int encode(SearchArgument argument) throws InexpressibleException {
    return encode(argument.getExpression(), argument.getLeaves());
  }

  private int encode(ExpressionTree tree, List<PredicateLeaf> leaves)
      throws InexpressibleException {
    switch (tree.getOperator()) {
      case LEAF:
        return leaf(leaves.get(tree.getLeaf()));
      case CONSTANT:
        return nodes.constant(truth(tree.getConstant()));
      case AND:
        return nodes.tree(NodeKind.AND, children(tree, leaves));
      case OR:
        return nodes.tree(NodeKind.OR, children(tree, leaves));
      case NOT:
        return nodes.tree(NodeKind.NOT, children(tree, leaves));
      default:
        throw new InexpressibleException(tree.toString());
    }
  }

  private List<Integer> children(ExpressionTree tree, List<PredicateLeaf> leaves)
      throws InexpressibleException {
    List<Integer> children = new ArrayList<>();
    for (ExpressionTree child : tree.getChildren()) {
      children.add(encode(child, leaves));
    }
    return children;
  }

  private int leaf(PredicateLeaf leaf) throws InexpressibleException {
    if (!path.get(0).equalsIgnoreCase(leaf.getColumnName())
        || literalsOf(leaf) != literals.size()) {
      throw new InexpressibleException(leaf.toString());
    }
    List<Integer> children = new ArrayList<>();
    children.add(nodes.column(path, type));
    for (Literal literal : literals) {
      children.add(nodes.literal(literal));
    }
    return nodes.leaf(operator(leaf.getOperator()), children);
  }

  private static int literalsOf(PredicateLeaf leaf) {
    if (leaf.getLiteralList() != null) {
      return leaf.getLiteralList().size();
    }
    return leaf.getOperator() == PredicateLeaf.Operator.IS_NULL ? 0 : 1;
  }

  static PredicateOperator operator(PredicateLeaf.Operator operator) throws InexpressibleException {
    switch (operator) {
      case EQUALS:
        return PredicateOperator.EQUALS;
      case NULL_SAFE_EQUALS:
        return PredicateOperator.NULL_SAFE_EQUALS;
      case LESS_THAN:
        return PredicateOperator.LESS_THAN;
      case LESS_THAN_EQUALS:
        return PredicateOperator.LESS_THAN_EQUALS;
      case IN:
        return PredicateOperator.IN;
      case BETWEEN:
        return PredicateOperator.BETWEEN;
      case IS_NULL:
        return PredicateOperator.IS_NULL;
      default:
        throw new InexpressibleException(operator.toString());
    }
  }

  static TruthValue truth(SearchArgument.TruthValue truth) throws InexpressibleException {
    switch (truth) {
      case YES:
        return TruthValue.YES;
      case NO:
        return TruthValue.NO;
      case NULL:
        return TruthValue.NULL;
      case YES_NULL:
        return TruthValue.YES_NULL;
      case NO_NULL:
        return TruthValue.NO_NULL;
      case YES_NO:
        return TruthValue.YES_NO;
      case YES_NO_NULL:
        return TruthValue.YES_NO_NULL;
      default:
        throw new InexpressibleException(truth.toString());
    }
  }
}
