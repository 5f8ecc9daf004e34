package io.pyhudi.spark.plans;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Enumeration;
import scala.Function1;
import scala.collection.IndexedSeq;
import scala.collection.Seq;
import scala.collection.immutable.List;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;

/**
 * A command without children, for classes in Java: it has what the Scala compiler would add of
 * Spark's traits, and of a case class. Commands of a class are equal if their parts are.
 *
 * <p>Spark copies plans whenever it compares, marks or changes them. It does so by the one public
 * constructor, which a class must have: its parameters are the parts, in their order, and then
 * {@link #otherCopyArgs}.
 */
public abstract class LeafCommand extends LogicalPlan implements LeafRunnableCommand {
  private final Seq<Attribute> output;
  private final Object[] parts;

  /**
   * @param output the columns of the result
   * @param parts what tells this command from others of its class: the constructor's arguments
   */
  protected LeafCommand(Seq<Attribute> output, Object... parts) {
    this.output = output;
    this.parts = parts;
  }

  @Override
  public final Seq<Attribute> output() {
    return output;
  }

  @Override
  public final Map<String, SQLMetric> metrics() {
    return Map$.MODULE$.empty();
  }

  @Override
  public final Statistics stats() {
    return LeafRunnableCommand.super.stats();
  }

  @Override
  public final AttributeSet producedAttributes() {
    return LeafRunnableCommand.super.producedAttributes();
  }

  @Override
  public final Seq<Enumeration.Value> nodePatterns() {
    return LeafCommand.<Enumeration.Value>none().$colon$colon(TreePattern.COMMAND());
  }

  @Override
  public final void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> patterns) {
    // Scala would store them in a field; they are a constant here.
  }

  @Override
  public final Seq<LogicalPlan> children() {
    return none();
  }

  @Override
  public final LogicalPlan mapChildren(Function1<LogicalPlan, LogicalPlan> function) {
    return this;
  }

  @Override
  public final LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public final String productPrefix() {
    return getClass().getSimpleName();
  }

  @Override
  public final int productArity() {
    return parts.length;
  }

  @Override
  public final Object productElement(int n) {
    return parts[n];
  }

  @Override
  public final boolean canEqual(Object other) {
    return getClass().isInstance(other);
  }

  @Override
  public final boolean equals(Object other) {
    return canEqual(other) && Arrays.equals(parts, ((LeafCommand) other).parts);
  }

  @Override
  public final int hashCode() {
    return Arrays.hashCode(parts);
  }

  /** Returns the empty list. */
  @SuppressWarnings("unchecked")
  protected static <T> List<T> none() {
    return (List<T>) Nil$.MODULE$;
  }
}
