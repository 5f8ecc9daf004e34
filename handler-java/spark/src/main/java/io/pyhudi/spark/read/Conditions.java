package io.pyhudi.spark.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.collection.JavaConverters;

/** The parts of a plan's conditions that hold for every row that it uses of a relation. */
final class Conditions {
  private Conditions() {}

  /**
   * Returns the conjuncts that hold for the rows of a node's children.
   *
   * @param above those that hold for the node's own rows
   */
  static List<Expression> below(LogicalPlan node, List<Expression> above) {
    if (node instanceof Filter) {
      List<Expression> all = new ArrayList<>(above);
      split(((Filter) node).condition(), all);
      return all;
    }
    if (node instanceof Project) {
      // A column that the projection computes has another identity than each of its child's.
      LogicalPlan child = ((Project) node).child();
      return above.stream()
          .filter(conjunct -> conjunct.references().subsetOf(child.outputSet()))
          .collect(Collectors.toList());
    }
    return new ArrayList<>();
  }

  private static void split(Expression condition, List<Expression> into) {
    if (condition instanceof And) {
      split(((And) condition).left(), into);
      split(((And) condition).right(), into);
    } else if (condition.deterministic() && !SubqueryExpression.hasSubquery(condition)) {
      into.add(condition);
    }
  }

  /** Returns the conjuncts about a relation's stored columns, not about files' metadata. */
  static List<Expression> about(HudiRead read, List<Expression> above) {
    Set<String> stored = new HashSet<>(Arrays.asList(read.files().schema().fieldNames()));
    return above.stream()
        .filter(conjunct -> conjunct.references().subsetOf(read.relation().outputSet()))
        .filter(conjunct -> names(conjunct, stored))
        .collect(Collectors.toList());
  }

  /** Returns the conjuncts about partition columns only. */
  static List<Expression> aboutPartitions(HudiRead read, List<Expression> conjuncts) {
    Set<String> columns =
        new HashSet<>(Arrays.asList(read.files().partitionSchema().fieldNames()));
    return conjuncts.stream()
        .filter(conjunct -> !conjunct.references().isEmpty() && names(conjunct, columns))
        .collect(Collectors.toList());
  }

  private static boolean names(Expression conjunct, Set<String> columns) {
    for (Attribute column : JavaConverters.asJavaIterable(conjunct.references())) {
      if (!columns.contains(column.name())) {
        return false;
      }
    }
    return true;
  }
}
