package io.pyhudi.spark.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.runtime.AbstractPartialFunction;

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

  /**
   * Returns the conjuncts about a relation's stored columns, not about files' metadata, with the
   * columns' names as the relation spells them.
   */
  static List<Expression> about(HudiRead read, List<Expression> above) {
    Set<String> stored = new HashSet<>(Arrays.asList(read.files().schema().fieldNames()));
    if (read.hasVirtualKeys()) {
      // The service takes it for NULL, and Hudi's reader shows what files still have.
      stored.remove(HoodieRecord.RECORD_KEY_METADATA_FIELD);
    }
    List<Expression> own =
        above.stream()
            .filter(conjunct -> conjunct.references().subsetOf(read.relation().outputSet()))
            .collect(Collectors.toList());
    return Scala.list(normalized(read, own)).stream()
        .filter(conjunct -> names(conjunct, stored))
        .collect(Collectors.toList());
  }

  private static Seq<Expression> normalized(HudiRead read, List<Expression> conjuncts) {
    List<Attribute> columns = new ArrayList<>(Scala.list(read.relation().output()));
    return DataSourceStrategy$.MODULE$.normalizeExprs(Scala.seq(conjuncts), Scala.seq(columns));
  }

  /** Returns the conjuncts about partition columns only. */
  static List<Expression> aboutPartitions(HudiRead read, List<Expression> conjuncts) {
    Set<String> columns = new HashSet<>(Arrays.asList(read.files().partitionSchema().fieldNames()));
    return conjuncts.stream()
        .filter(conjunct -> !conjunct.references().isEmpty() && names(conjunct, columns))
        .collect(Collectors.toList());
  }

  /** Returns a conjunction as SQL, with the names of columns alone. */
  static String text(List<Expression> conjuncts) {
    return conjuncts.stream()
        .map(conjunct -> conjunct.transformUp(new Unqualified()).sql())
        .collect(Collectors.joining(" AND "));
  }

  private static final class Unqualified extends AbstractPartialFunction<Expression, Expression> {
    @Override
    public boolean isDefinedAt(Expression node) {
      return node instanceof AttributeReference;
    }

    @Override
    public Expression apply(Expression node) {
      return ((AttributeReference) node).withQualifier(Scala.seq(Collections.emptyList()));
    }
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
