package io.pyhudi.truth;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;

/**
 * Says what predicates give for rows, by Hive's own expression evaluators.
 *
 * <p>Questions come on the standard input, answers go to the standard output, in the binary form of
 * {@link Question} and {@link Judgement}. The program ends where its input ends.
 */
public final class HiveJudge {
  private static final int BUFFER = 1 << 16;

  private HiveJudge() {}

  public static void main(String[] arguments) throws IOException, HiveException, SemanticException {
    DataInputStream questions =
        new DataInputStream(
            new BufferedInputStream(new FileInputStream(FileDescriptor.in), BUFFER));
    DataOutputStream answers =
        new DataOutputStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), BUFFER));
    // What Hive prints is none of the answers.
    System.setOut(System.err);
    Session session = null;
    for (Question q = Question.read(questions); q != null; q = Question.read(questions)) {
      if (session == null || !session.options().equals(q.session())) {
        session = Session.start(q.session());
      }
      for (Judgement judgement : judge(q, session)) {
        judgement.write(answers);
      }
      answers.flush();
    }
  }

  private static List<Judgement> judge(Question question, Session session)
      throws IOException, HiveException, SemanticException {
    session.enterEvaluation();
    Rows rows = Rows.read(question.rows());
    session.enterCompiler();
    Predicates predicates = new Predicates(rows.type(), session.conf());
    List<Compiled> compiled =
        question.predicates().stream().map(text -> compile(text, predicates, session)).toList();
    session.enterEvaluation();
    List<Evaluation> evaluations = new ArrayList<>();
    for (byte way : question.ways()) {
      evaluations.add(Evaluation.Way.values()[way].of(rows, session));
    }
    List<Judgement> judgements =
        compiled.stream().map(one -> one.evaluated(evaluations, session)).toList();
    session.enterCompiler();
    return judgements;
  }

  private static Compiled compile(String text, Predicates predicates, Session session) {
    try {
      ExprNodeDesc predicate = predicates.parse(text);
      return new Compiled(predicate, HandlerFilter.of(predicate, session.job()), null);
    } catch (Exception | LinkageError | StackOverflowError e) {
      return new Compiled(null, null, e.toString());
    }
  }

  /**
   * @param predicate null: it does not compile
   * @param request the handler's; null: none
   * @param failure why it does not compile
   */
  private record Compiled(ExprNodeDesc predicate, byte[] request, String failure) {
    Judgement evaluated(List<Evaluation> evaluations, Session session) {
      return predicate == null
          ? new Judgement.Refusal(failure)
          : new Judgement.Answer(
              request, evaluations.stream().map(one -> outcome(one, session)).toList());
    }

    private Judgement.Outcome outcome(Evaluation evaluation, Session session) {
      try {
        // Vectorisation changes the expression.
        ExprNodeDesc own = session.sent(predicate);
        return new Judgement.Outcome(evaluation.truths(own), null);
      } catch (Exception | LinkageError | StackOverflowError e) {
        return new Judgement.Outcome(null, e.toString());
      }
    }
  }
}
