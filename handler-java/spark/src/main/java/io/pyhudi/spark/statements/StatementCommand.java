package io.pyhudi.spark.statements;

import java.util.Objects;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Enumeration;
import scala.Function1;
import scala.Option;
import scala.collection.IndexedSeq;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;

/**
 * A statement of ours in a plan. A process of Python runs it ({@link PythonProcess}); what that
 * process does not understand goes to the plan of the next parser, if that one has understood it.
 */
public final class StatementCommand extends LogicalPlan implements LeafRunnableCommand {
  private final StatementKind kind;
  private final String text;
  private final Option<LogicalPlan> theirs;
  private final Seq<Attribute> output;

  private StatementCommand(
      StatementKind kind, String text, Option<LogicalPlan> theirs, Seq<Attribute> output) {
    this.kind = kind;
    this.text = text;
    this.theirs = theirs;
    this.output = output;
  }

  /**
   * Returns the plan of a statement.
   *
   * @param theirs what the next parser makes of the same text
   */
  static StatementCommand of(StatementKind kind, String text, Option<LogicalPlan> theirs) {
    return new StatementCommand(kind, text, theirs, DataTypeUtils.toAttributes(kind.columns()));
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
    return nothing();
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public Map<String, SQLMetric> metrics() {
    return Map$.MODULE$.empty();
  }

  @Override
  public Statistics stats() {
    return Command.stats$(this);
  }

  @Override
  public AttributeSet producedAttributes() {
    return Command.producedAttributes$(this);
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return nothing().$colon$colon(TreePattern.COMMAND());
  }

  @Override
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> patterns) {
    // Scala would store them in a field; they are a constant here.
  }

  @Override
  public Seq<LogicalPlan> children() {
    return nothing();
  }

  @Override
  public LogicalPlan mapChildren(Function1<LogicalPlan, LogicalPlan> function) {
    return this;
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public LogicalPlan clone() {
    return new StatementCommand(kind, text, theirs, output);
  }

  @Override
  public String simpleString(int maxFields) {
    return "PyHudi statement: " + text;
  }

  @Override
  public String productPrefix() {
    return "StatementCommand";
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? kind : text;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof StatementCommand;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof StatementCommand
        && kind == ((StatementCommand) other).kind
        && text.equals(((StatementCommand) other).text);
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, text);
  }

  @SuppressWarnings("unchecked")
  private static <T> scala.collection.immutable.List<T> nothing() {
    return (scala.collection.immutable.List<T>) Nil$.MODULE$;
  }
}
