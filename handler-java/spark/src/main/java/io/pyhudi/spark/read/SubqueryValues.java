package io.pyhudi.spark.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.ExecSubqueryExpression;
import org.apache.spark.sql.execution.InSubqueryExec;
import org.apache.spark.sql.execution.ScalarSubquery;

/** The results of subqueries in conditions of a physical plan. */
final class SubqueryValues {
  private SubqueryValues() {}

  /** Returns whether a condition has a subquery. */
  static boolean areIn(Expression condition) {
    return condition instanceof ExecSubqueryExpression
        || Scala.list(condition.children()).stream().anyMatch(SubqueryValues::areIn);
  }

  /** Returns the conditions with subqueries that have run, with the results in place. */
  static List<Expression> known(List<Expression> conditions) {
    List<Expression> known = new ArrayList<>();
    for (Expression condition : conditions) {
      if (areIn(condition)) {
        replaced(condition).ifPresent(known::add);
      }
    }
    return known;
  }

  private static Optional<Expression> replaced(Expression node) {
    if (node instanceof ScalarSubquery) {
      return value((ScalarSubquery) node);
    }
    if (node instanceof InSubqueryExec) {
      InSubqueryExec in = (InSubqueryExec) node;
      return in.values().isDefined()
          ? replaced(in.child())
              .map(
                  child ->
                      new InSet(child, Scala.set(new HashSet<>(Arrays.asList(in.values().get())))))
          : Optional.empty();
    }
    List<Expression> children = new ArrayList<>();
    for (Expression child : Scala.list(node.children())) {
      Optional<Expression> of = replaced(child);
      if (!of.isPresent()) {
        return Optional.empty();
      }
      children.add(of.get());
    }
    return node instanceof ExecSubqueryExpression
        ? Optional.empty()
        : computed(node.withNewChildren(Scala.seq(children)));
  }

  /** Returns the value of what has no columns: Spark makes one subquery of several, of a struct. */
  private static Optional<Expression> computed(Expression node) {
    if (!node.foldable() || node instanceof Literal) {
      return Optional.of(node);
    }
    try {
      return Optional.of(new Literal(node.eval(null), node.dataType()));
    } catch (RuntimeException failed) { // so will the query
      return Optional.empty();
    }
  }

  private static Optional<Expression> value(ScalarSubquery subquery) {
    try {
      return Optional.of(new Literal(subquery.eval(null), subquery.dataType()));
    } catch (IllegalArgumentException notRun) {
      return Optional.empty();
    }
  }
}
