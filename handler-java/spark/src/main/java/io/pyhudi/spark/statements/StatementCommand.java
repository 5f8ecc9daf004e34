package io.pyhudi.spark.statements;

import io.pyhudi.spark.plans.LeafCommand;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * A statement of ours in a plan. A process of Python runs it ({@link PythonProcess}); what that
 * process does not understand goes to the plan of the next parser, if that one has understood it.
 */
public final class StatementCommand extends LeafCommand {
  private final StatementKind kind;
  private final String text;
  private final Option<LogicalPlan> theirs;

  /** For Spark, which copies plans. */
  public StatementCommand(
      StatementKind kind, String text, Seq<Attribute> output, Option<LogicalPlan> theirs) {
    super(output, kind, text, output);
    this.kind = kind;
    this.text = text;
    this.theirs = theirs;
  }

  /** Returns the plan of a statement that no other parser is asked about. */
  public static StatementCommand of(StatementKind kind, String text) {
    return of(kind, text, Option.empty());
  }

  /**
   * Returns the plan of a statement.
   *
   * @param theirs what the next parser makes of the same text
   */
  static StatementCommand of(StatementKind kind, String text, Option<LogicalPlan> theirs) {
    return new StatementCommand(kind, text, attributes(kind), theirs);
  }

  @SuppressWarnings("unchecked") // a sequence that is only read
  private static Seq<Attribute> attributes(StatementKind kind) {
    return (Seq<Attribute>) (Seq<?>) DataTypeUtils.toAttributes(kind.columns());
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    StatementRun run = new StatementRun(session, text, kind.columns());
    PythonProcess.run(run);
    if (run.isUnderstood()) {
      return JavaConverters.asScalaBuffer(run.rows()).toList();
    }
    if (theirs.isEmpty()) {
      throw run.misunderstanding();
    }
    Dataset.ofRows(session, theirs.get()).collect();
    return none();
  }

  /** It follows from the text, and Spark's rules are not about it. */
  @Override
  public Seq<Object> otherCopyArgs() {
    return LeafCommand.<Object>none().$colon$colon(theirs);
  }

  @Override
  public String simpleString(int maxFields) {
    return "PyHudi statement: " + text;
  }
}
