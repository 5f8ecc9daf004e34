package io.pyhudi.spark.read;

import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.SparkCondition;
import io.pyhudi.spark.service.Answer;
import io.pyhudi.spark.service.AskedConditions;
import io.pyhudi.spark.service.PruningConf;
import io.pyhudi.spark.service.Questions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the service is asked about one relation: conditions that hold for the rows it needs. */
final class Question {
  private static final Logger LOG = LoggerFactory.getLogger(Question.class);

  private final SparkSession session;
  private final HudiRead read;
  private final List<Expression> conjuncts;
  private final SparkCondition condition;

  private Question(
      SparkSession session, HudiRead read, List<Expression> conjuncts, SparkCondition condition) {
    this.session = session;
    this.read = read;
    this.conjuncts = conjuncts;
    this.condition = condition;
  }

  /**
   * Returns the question by conditions of a plan.
   *
   * @param above those that hold for the rows that the plan needs of the relation
   */
  static Question of(SparkSession session, HudiRead read, List<Expression> above) {
    List<Expression> conjuncts = Conditions.about(read, above);
    SparkCondition condition = ConditionEncoder.encode(conjuncts, read.showsPathValues());
    if (condition == null && read.hasVirtualKeys()) {
      // The service says what readers have to be told of the keys.
      List<Expression> every = Collections.singletonList(Literal.TrueLiteral());
      condition = ConditionEncoder.encode(every, read.showsPathValues());
    }
    return new Question(session, read, conjuncts, condition);
  }

  /** Returns the question with further conditions. */
  Question and(List<Expression> more) {
    List<Expression> all = new ArrayList<>(conjuncts);
    all.addAll(more);
    return of(session, read, all);
  }

  HudiRead read() {
    return read;
  }

  /** Returns the condition as the service understands it; null if there is none to ask about. */
  SparkCondition condition() {
    return condition;
  }

  /** Returns the conjuncts by which Hudi may leave partitions out. */
  List<Expression> aboutPartitions() {
    return Conditions.aboutPartitions(read, conjuncts);
  }

  Answer ask() {
    String obstacle = read.obstacle();
    if (obstacle != null) {
      return Answer.notAsked(obstacle);
    }
    remember();
    Questions questions = new Questions(session, PruningConf.of(session));
    Semantics semantics = SparkSemantics.of(session, conjuncts);
    PruneRequest request = questions.request(read.basePath(), condition, semantics, read.view());
    request.setNewestInstant(read.newestInstant());
    request.setAsOfInstant(read.asOf());
    request.setCatalogProperties(read.statedBuckets());
    if (aboutPartitions().isEmpty() && read.canBeListed()) {
      request.setListKept(true);
    }
    Answer answer = questions.ask(request);
    return read.slices().counted(Scala.seq(aboutPartitions()), answer);
  }

  /** For the advisor alone, so that a condition without a text is no reason to fail. */
  private void remember() {
    if (conjuncts.isEmpty()) {
      return;
    }
    try {
      AskedConditions.add(read.basePath(), Conditions.text(conjuncts));
    } catch (RuntimeException e) {
      LOG.debug("{}: the advisor does not get the condition", read.basePath(), e);
    }
  }
}
