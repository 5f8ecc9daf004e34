package io.pyhudi.hive.predicate;

import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PredicateOperator;
import io.pyhudi.hive.protocol.TruthValue;
import java.util.ArrayList;
import java.util.List;

/** Builds a tree in post-order: each method adds one node and returns its index. */
final class NodeList {
  private static final int MAX_TEXT = 200;

  private final List<Node> nodes = new ArrayList<>();

  List<Node> nodes() {
    return nodes;
  }

  int size() {
    return nodes.size();
  }

  /** Removes every node from an index on. */
  void truncate(int size) {
    nodes.subList(size, nodes.size()).clear();
  }

  int tree(NodeKind kind, List<Integer> children) {
    return add(new Node(kind).setChildren(children));
  }

  int constant(TruthValue truth) {
    return add(new Node(NodeKind.CONSTANT).setTruth(truth));
  }

  int leaf(PredicateOperator op, List<Integer> children) {
    return add(new Node(NodeKind.LEAF).setOp(op).setChildren(children));
  }

  int column(List<String> path, String type) {
    return add(new Node(NodeKind.COLUMN).setPath(path).setType(type));
  }

  int literal(Literal literal) {
    return add(new Node(NodeKind.LITERAL).setLiteral(literal));
  }

  int function(String name, String type, List<Integer> children) {
    return add(
        new Node(NodeKind.FUNCTION).setFunctionName(name).setType(type).setChildren(children));
  }

  int unknown(String text) {
    return add(unknownNode(text));
  }

  /** Adds whether a column is one of many keys; older services take it for unknown. */
  int keys(List<String> path, String type, KeyList keys) {
    Node node = unknownNode(String.join(".", path) + " IN (" + keys.count() + " keys)");
    return add(node.setPath(path).setType(type).setKeys(keys.toThrift()));
  }

  /** Returns whether nothing is known of a whole filter. */
  static boolean isUnknown(List<Node> filter) {
    Node root = filter.get(filter.size() - 1);
    return root.getKind() == NodeKind.UNKNOWN && !root.isSetKeys();
  }

  private static Node unknownNode(String text) {
    String shown = text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "...";
    return new Node(NodeKind.UNKNOWN).setText(shown);
  }

  private int add(Node node) {
    nodes.add(node);
    return nodes.size() - 1;
  }
}
