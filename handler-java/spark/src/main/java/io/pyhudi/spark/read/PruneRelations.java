package io.pyhudi.spark.read;

import io.pyhudi.spark.service.Answer;
import io.pyhudi.spark.service.LacksKeysException;
import io.pyhudi.spark.service.PruningConf;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the service about each relation of an optimised plan that reads a Hudi table below a
 * condition, and gives it the files that may be needed.
 *
 * <p>A relation with fewer rows, none of which the filter above it would let pass, may stand for
 * the whole one wherever the plan is changed later: such changes hold for tables of any content.
 */
public final class PruneRelations extends Rule<LogicalPlan> {
  private static final Logger LOG = LoggerFactory.getLogger(PruneRelations.class);

  private final SparkSession session;

  public PruneRelations(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    try {
      return new Pruning(session, learns(plan)).visit(plan, new ArrayList<>());
    } catch (LacksKeysException e) {
      throw e;
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("the plan's Hudi tables cannot be pruned, Hudi lists them", e);
      return plan;
    }
  }

  /** Returns whether a running plan may know more conditions than the plan itself says. */
  private static boolean learns(LogicalPlan plan) {
    return plan instanceof Join
        || Scala.list(plan.expressions()).stream().anyMatch(SubqueryExpression::hasSubquery)
        || Scala.list(plan.children()).stream().anyMatch(PruneRelations::learns);
  }

  private static final class Pruning {
    private final SparkSession session;
    private final boolean learns;

    Pruning(SparkSession session, boolean learns) {
      this.session = session;
      this.learns = learns;
    }

    LogicalPlan visit(LogicalPlan plan, List<Expression> above) {
      Optional<HudiRead> read = HudiRead.of(session, plan);
      if (read.isPresent()) {
        return pruned(read.get().current(), above);
      }
      List<Expression> below = Conditions.below(plan, above);
      List<LogicalPlan> children = new ArrayList<>();
      boolean isChanged = false;
      for (LogicalPlan child : Scala.list(plan.children())) {
        LogicalPlan visited = visit(child, below);
        isChanged |= visited != child;
        children.add(visited);
      }
      return isChanged ? plan.withNewChildren(Scala.seq(children)) : plan;
    }

    private LogicalPlan pruned(HudiRead read, List<Expression> above) {
      if (!PruningConf.of(session).enabled()) {
        return read.index().sizeInBytes() == 0 ? list(read, above) : read.relation();
      }
      Question question = Question.of(session, read, above);
      boolean isPruned = read.files().location() instanceof PrunedFileIndex;
      if (isPruned && ((PrunedFileIndex) read.files().location()).isAbout(question)) {
        return read.relation();
      }
      if (question.condition() != null) {
        return of(question, question.ask());
      }
      return learns && !isPruned && read.obstacle() == null
          ? of(question, Answer.notAsked("no condition is known before the query runs"))
          : list(read, above);
    }

    private static LogicalPlan of(Question question, Answer answer) {
      LogicalRelation relation = question.read().relation();
      PrunedFileIndex index = new PrunedFileIndex(question, answer);
      return relation.copy(
          new PrunedRelation(question.read().files(), index),
          relation.output(),
          relation.catalogTable(),
          relation.isStreaming());
    }

    /**
     * Does for a relation that remains Hudi's what Hudi's rule does: the planner needs its size.
     */
    private static LogicalPlan list(HudiRead read, List<Expression> above) {
      if (!read.isIncremental() && !(read.files().location() instanceof PrunedFileIndex)) {
        List<Expression> own = Conditions.about(read, above);
        read.slices().listedBytes(Scala.seq(Conditions.aboutPartitions(read, own)));
      }
      return read.relation();
    }
  }
}
