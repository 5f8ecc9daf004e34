package io.pyhudi.connector;

import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PredicateOperator;
import io.pyhudi.hive.protocol.TruthValue;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A filter for the pruning service, made of the domains that an engine pushes down: every column's
 * value lies in one of its ranges, or is NULL where that is allowed.
 */
public final class DomainFilter {
  // Children before their parents, the root last.
  private final List<Node> nodes = new ArrayList<>();
  private final List<Integer> domains = new ArrayList<>();

  /**
   * Adds the domain of a column. A column that is not added may have any value.
   *
   * @param path the column, and the field below it, if it is one
   * @param type Hive's name of the type by which the engine reads the column
   * @param ranges empty for no value
   */
  public void add(List<String> path, String type, List<ValueRange> ranges, boolean nullAllowed) {
    Node column = new Node(NodeKind.COLUMN).setPath(path).setType(type);
    List<Integer> either = new ArrayList<>();
    List<Literal> single = new ArrayList<>();
    for (ValueRange range : ranges) {
      if (range.isOneValue()) {
        single.add(range.low.get().value);
      } else {
        either.add(inside(column, range));
      }
    }
    if (!single.isEmpty()) {
      either.add(oneOf(column, single));
    }
    if (nullAllowed) {
      either.add(leaf(PredicateOperator.IS_NULL, column(column)));
    }
    domains.add(either.isEmpty() ? never() : joined(NodeKind.OR, either));
  }

  /** Adds that a column is not NULL. */
  public void addNotNull(List<String> path, String type) {
    Node column = new Node(NodeKind.COLUMN).setPath(path).setType(type);
    int isNull = leaf(PredicateOperator.IS_NULL, column(column));
    domains.add(append(new Node(NodeKind.NOT), Collections.singletonList(isNull)));
  }

  /** Returns whether no domain was added: every file can have a matching row. */
  public boolean isEmpty() {
    return domains.isEmpty();
  }

  /** Returns the filter's nodes, once. */
  public List<Node> nodes() {
    if (domains.isEmpty()) {
      append(new Node(NodeKind.CONSTANT).setTruth(TruthValue.YES), Collections.emptyList());
    } else {
      joined(NodeKind.AND, domains);
    }
    return nodes;
  }

  private int inside(Node column, ValueRange range) {
    List<Integer> both = new ArrayList<>();
    range.low.ifPresent(low -> both.add(leaf(operator(low), literal(low.value), column(column))));
    range.high.ifPresent(
        high -> both.add(leaf(operator(high), column(column), literal(high.value))));
    if (both.isEmpty()) {
      int isNull = leaf(PredicateOperator.IS_NULL, column(column));
      both.add(append(new Node(NodeKind.NOT), Collections.singletonList(isNull)));
    }
    return joined(NodeKind.AND, both);
  }

  private int oneOf(Node column, List<Literal> values) {
    List<Integer> operands = new ArrayList<>();
    operands.add(column(column));
    values.forEach(value -> operands.add(literal(value)));
    PredicateOperator operator =
        values.size() == 1 ? PredicateOperator.EQUALS : PredicateOperator.IN;
    return append(new Node(NodeKind.LEAF).setOp(operator), operands);
  }

  private static PredicateOperator operator(Bound bound) {
    return bound.inclusive ? PredicateOperator.LESS_THAN_EQUALS : PredicateOperator.LESS_THAN;
  }

  private int never() {
    return append(new Node(NodeKind.CONSTANT).setTruth(TruthValue.NO), Collections.emptyList());
  }

  private int joined(NodeKind kind, List<Integer> children) {
    return children.size() == 1 ? children.get(0) : append(new Node(kind), children);
  }

  private int leaf(PredicateOperator operator, Integer... children) {
    return append(new Node(NodeKind.LEAF).setOp(operator), Arrays.asList(children));
  }

  private int column(Node column) {
    return append(column.deepCopy(), Collections.emptyList());
  }

  private int literal(Literal value) {
    return append(new Node(NodeKind.LITERAL).setLiteral(value), Collections.emptyList());
  }

  private int append(Node node, List<Integer> children) {
    nodes.add(node.setChildren(children));
    return nodes.size() - 1;
  }
}
