package io.pyhudi.spark.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives scans of Hudi tables the conditions of a physical plan whose values are known when the scan
 * lists its files, and not before: those with subqueries, and the keys of joins with a table that
 * has been broadcast already, as adaptive execution does before it runs the stage of the scan.
 *
 * <p>It runs after subqueries were planned, over the plan of each stage. As a condition of the scan
 * a subquery is waited for before the scan lists files.
 */
public final class RuntimeConditions extends ColumnarRule {
  @Override
  public Rule<SparkPlan> preColumnarTransitions() {
    return new IntoScans();
  }

  private static final class IntoScans extends Rule<SparkPlan> {
    private static final Logger LOG = LoggerFactory.getLogger(RuntimeConditions.class);

    @Override
    public SparkPlan apply(SparkPlan plan) {
      try {
        return visit(plan, new ArrayList<>());
      } catch (RuntimeException | LinkageError e) {
        LOG.warn("values of the running query are not used for pruning", e);
        return plan;
      }
    }

    private SparkPlan visit(SparkPlan plan, List<Expression> above) {
      if (plan instanceof FileSourceScanExec) {
        return scan((FileSourceScanExec) plan, above);
      }
      List<SparkPlan> children = new ArrayList<>();
      boolean isChanged = false;
      for (SparkPlan child : Scala.list(plan.children())) {
        SparkPlan visited = visit(child, below(plan, child, above));
        isChanged |= visited != child;
        children.add(visited);
      }
      return isChanged ? plan.withNewChildren(Scala.seq(children)) : plan;
    }

    /**
     * Returns the conditions that hold for the rows of a node's child if the node uses them.
     *
     * @param above those that hold for the node's own rows that are used
     */
    private static List<Expression> below(SparkPlan node, SparkPlan child, List<Expression> above) {
      List<Expression> below = new ArrayList<>();
      if (node instanceof FilterExec) {
        below.addAll(above);
        split(((FilterExec) node).condition(), below);
      } else if (node instanceof ProjectExec) {
        below.addAll(above);
      } else if (node instanceof BroadcastHashJoinExec) {
        BroadcastHashJoinExec join = (BroadcastHashJoinExec) node;
        if (join.streamedPlan() == child) {
          below.addAll(above);
          JoinKeys.of(join).ifPresent(below::add);
        }
      }
      return below.stream()
          .filter(conjunct -> conjunct.references().subsetOf(child.outputSet()))
          .collect(Collectors.toList());
    }

    private static void split(Expression condition, List<Expression> into) {
      if (condition instanceof And) {
        split(((And) condition).left(), into);
        split(((And) condition).right(), into);
      } else if (condition.deterministic()
          && SubqueryValues.areIn(condition)
          // Its values are hashed: no file can be excluded by them.
          && !(condition instanceof BloomFilterMightContain)) {
        into.add(condition);
      }
    }

    private static SparkPlan scan(FileSourceScanExec scan, List<Expression> conditions) {
      if (conditions.isEmpty() || !(scan.relation() instanceof PrunedRelation)) {
        return scan;
      }
      // Spark may give the plan other subqueries with the same results afterwards.
      Map<Boolean, List<Expression>> haveSubqueries =
          conditions.stream().collect(Collectors.partitioningBy(SubqueryValues::areIn));
      List<Expression> filters = new ArrayList<>(Scala.list(scan.dataFilters()));
      filters.addAll(haveSubqueries.get(true));
      FileSourceScanExec copy =
          scan.copy(
              ((PrunedRelation) scan.relation()).with(haveSubqueries.get(false)),
              scan.output(),
              scan.requiredSchema(),
              scan.partitionFilters(),
              scan.optionalBucketSet(),
              scan.optionalNumCoalescedBuckets(),
              Scala.seq(filters),
              scan.tableIdentifier(),
              scan.disableBucketedScan());
      copy.copyTagsFrom(scan);
      return copy;
    }
  }
}
