package io.pyhudi.truth;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
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
      if (session == null || !session.isOf(q.zone(), q.settings())) {
        session = Session.start(q.zone(), q.settings());
      }
      Rows rows = Rows.read(q.rows());
      Evaluation evaluation = Evaluation.Way.values()[q.way()].of(rows, session);
      Predicates predicates = new Predicates(rows.type(), session.conf());
      for (String text : q.predicates()) {
        judge(text, predicates, evaluation, session).write(answers);
      }
      answers.flush();
    }
  }

  private static Judgement judge(
      String text, Predicates predicates, Evaluation evaluation, Session session) {
    try {
      // The evaluation comes last: vectorisation changes the expression.
      ExprNodeDesc predicate = predicates.parse(text);
      byte[] filter = HandlerFilter.of(predicate, session.job());
      return new Judgement.Answer(evaluation.truths(predicate), filter);
    } catch (Exception | LinkageError | StackOverflowError e) {
      return new Judgement.Refusal(e.toString());
    }
  }
}
