package io.pyhudi.hive.planning;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.hive.ql.lib.Node;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.ParseDriver;
import org.apache.hadoop.hive.ql.parse.ParseException;

/**
 * The states of tables that the text of a query names, and those of the views in it.
 *
 * <p>Nodes are compared by their texts: the numbers of Hive's tokens differ between its versions.
 */
final class StatesInText {
  /** What Hive plans by its cost-based optimizer only, or without it with many exceptions. */
  private static final Set<String> COST_BASED =
      new HashSet<>(
          Arrays.asList(
              "TOK_EXCEPTALL",
              "TOK_EXCEPTDISTINCT",
              "TOK_INTERSECTALL",
              "TOK_INTERSECTDISTINCT",
              "TOK_QUALIFY",
              "TOK_SUBQUERY_EXPR"));

  private final boolean isMasked;
  private final Map<List<String>, Set<String>> statesByTableAndAlias = new HashMap<>();
  private final Set<String> views = new HashSet<>();
  private boolean needsCostBasedOptimizer;
  private String problem;

  private StatesInText(boolean isMasked) {
    this.isMasked = isMasked;
  }

  /** Reads a statement. */
  static StatesInText of(String statement) {
    StatesInText states = new StatesInText(StatesOfQuery.isMasked());
    try {
      states.read(statement);
      states.statesByTableAndAlias.forEach(states::compare);
    } catch (ParseException | HiveException | RuntimeException e) {
      states.problem = problem("it is not known which states of tables the query reads: " + e);
    }
    return states;
  }

  /** Returns what the cost-based optimizer would mix, and what helps; null if nothing. */
  String problem() {
    return problem;
  }

  /** Returns whether Hive refuses the query without its cost-based optimizer. */
  boolean needsCostBasedOptimizer() {
    return needsCostBasedOptimizer;
  }

  private void compare(List<String> tableAndAlias, Set<String> states) {
    if (states.size() > 1) {
      String table = tableAndAlias.get(0);
      problem =
          problem(
              isMasked
                  ? "table " + table + " is masked or filtered, and read in several states"
                  : "table "
                      + table
                      + " is read in several states under the alias "
                      + tableAndAlias.get(1));
    }
  }

  private static String problem(String reason) {
    return reason
        + ". Hive's cost-based optimizer would read one of them for all. Give each its own alias, as"
        + " in FROM t now ... FROM t FOR SYSTEM_VERSION AS OF v past, or register the table again"
        + " with the property hudi.as.of";
  }

  private void read(String statement) throws ParseException, HiveException {
    read(new ParseDriver().parse(statement).getTree());
  }

  private void read(ASTNode node) throws ParseException, HiveException {
    String text = text(node);
    if (COST_BASED.contains(text)) {
      needsCostBasedOptimizer = true;
    } else if (text.equals("TOK_TABREF")) {
      readTable(node);
    }
    if (node.getChildren() != null) {
      for (Node child : node.getChildren()) {
        read((ASTNode) child);
      }
    }
  }

  private void readTable(ASTNode reference) throws ParseException, HiveException {
    List<String> names = names((ASTNode) reference.getChild(0));
    String table = names.get(Math.min(1, names.size() - 1));
    String alias = table;
    String state = "";
    for (int i = 1; i < reference.getChildCount(); i++) {
      ASTNode child = (ASTNode) reference.getChild(i);
      if (!text(child).startsWith("TOK_")) {
        alias = name(child);
      } else if (text(child).startsWith("TOK_AS_OF") || text(child).startsWith("TOK_FROM")) {
        state += child.toStringTree();
      }
    }
    statesByTableAndAlias
        .computeIfAbsent(Arrays.asList(table, isMasked ? "" : alias), unused -> new HashSet<>())
        .add(state);
    String name = String.join(".", names.subList(0, Math.min(2, names.size())));
    Table found = Hive.get().getTable(name, false);
    if (found != null && found.isView() && views.add(found.getFullyQualifiedName())) {
      read(found.getViewExpandedText());
    }
  }

  private static List<String> names(ASTNode tableName) {
    return tableName.getChildren().stream()
        .map(child -> name((ASTNode) child))
        .collect(Collectors.toList());
  }

  private static String name(ASTNode node) {
    return node.getText().replace("`", "").toLowerCase(Locale.ROOT);
  }

  private static String text(ASTNode node) {
    return node.getText() == null ? "" : node.getText().toUpperCase(Locale.ROOT);
  }
}
