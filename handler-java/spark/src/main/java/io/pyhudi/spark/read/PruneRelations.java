package io.pyhudi.spark.read;

import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.SparkCondition;
import io.pyhudi.spark.service.Answer;
import io.pyhudi.spark.service.PruningConf;
import io.pyhudi.spark.service.Questions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
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
      return visit(plan, new ArrayList<>());
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("the plan's Hudi tables cannot be pruned, Hudi lists them", e);
      return plan;
    }
  }

  private LogicalPlan visit(LogicalPlan plan, List<Expression> above) {
    Optional<HudiRead> read = HudiRead.of(session, plan);
    if (read.isPresent()) {
      return pruned(read.get(), Conditions.about(read.get(), above));
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

  private LogicalPlan pruned(HudiRead read, List<Expression> conjuncts) {
    PruningConf conf = PruningConf.of(session);
    if (!conf.enabled()) {
      return read.index().sizeInBytes() == 0 ? list(read, conjuncts) : read.relation();
    }
    SparkCondition condition = ConditionEncoder.encode(conjuncts, read.showsPathValues());
    if (condition == null) {
      return list(read, conjuncts);
    }
    if (read.files().location() instanceof PrunedFileIndex
        && ((PrunedFileIndex) read.files().location()).isAbout(condition)) {
      return read.relation();
    }
    List<Expression> aboutPartitions = Conditions.aboutPartitions(read, conjuncts);
    Answer answer = answer(read, condition, aboutPartitions.isEmpty(), conf);
    PrunedFileIndex index = new PrunedFileIndex(read.index(), condition, aboutPartitions, answer);
    LogicalRelation relation = read.relation();
    return relation.copy(
        new PrunedRelation(read.files(), index),
        relation.output(),
        relation.catalogTable(),
        relation.isStreaming());
  }

  private Answer answer(
      HudiRead read, SparkCondition condition, boolean ofAllPartitions, PruningConf conf) {
    String obstacle = read.obstacle();
    if (obstacle != null) {
      return Answer.notAsked(obstacle);
    }
    Questions questions = new Questions(session, conf);
    PruneRequest request = questions.request(read.basePath(), condition, read.view());
    request.setNewestInstant(read.newestInstant());
    request.setAsOfInstant(read.asOf());
    if (ofAllPartitions && read.canBeListed()) {
      request.setListKept(true);
    }
    return questions.ask(request);
  }

  /** Does for a relation that remains Hudi's what Hudi's rule does: the planner needs its size. */
  private LogicalPlan list(HudiRead read, List<Expression> conjuncts) {
    if (!read.isIncremental() && !(read.files().location() instanceof PrunedFileIndex)) {
      read.index()
          .filterFileSlices(
              Scala.seq(new ArrayList<>()),
              Scala.seq(Conditions.aboutPartitions(read, conjuncts)),
              true);
    }
    return read.relation();
  }
}
