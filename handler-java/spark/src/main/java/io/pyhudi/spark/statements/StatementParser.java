package io.pyhudi.spark.statements;

import io.pyhudi.spark.plans.Settings;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.ExplainMode;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.internal.VariableSubstitution;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Seq;

/**
 * Spark's parser with our statements. Those are known by their first words; all others go to the
 * next parser unchanged, and so does one of ours on a table that is not Hudi's, if that parser
 * understands it: other formats and catalogs have the same words.
 */
public final class StatementParser implements ParserInterface {
  /**
   * So far into a statement is its table looked for: names of indexes and tables have few parts.
   */
  private static final int FIRST_TOKENS = 32;

  private static final Pattern EXPLAIN =
      Pattern.compile(
          "\\s*EXPLAIN\\s+(?:(EXTENDED|CODEGEN|COST|FORMATTED)\\s+)?(.*)",
          Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private final SparkSession session;
  private final ParserInterface next;

  public StatementParser(SparkSession session, ParserInterface next) {
    this.session = session;
    this.next = next;
  }

  @Override
  public LogicalPlan parsePlan(String sql) throws ParseException {
    if (!Settings.runsStatements(session)) {
      return next.parsePlan(sql);
    }
    Matcher explain = EXPLAIN.matcher(sql);
    if (explain.matches()) {
      ExplainMode mode = mode(explain.group(1));
      Optional<LogicalPlan> explained = ours(explain.group(2));
      return explained.isPresent()
          ? new ExplainCommand(explained.get(), mode)
          : next.parsePlan(sql);
    }
    Optional<LogicalPlan> ours = ours(sql);
    return ours.isPresent() ? ours.get() : next.parsePlan(sql);
  }

  private static ExplainMode mode(String word) {
    return ExplainMode.fromString(word == null ? "simple" : word);
  }

  /** Returns the plan of a statement that begins with our words; empty: it has others. */
  private Optional<LogicalPlan> ours(String sql) {
    Optional<StatementKind> kind = StatementKind.of(StatementText.of(sql, FIRST_TOKENS));
    if (!kind.isPresent()) {
      return Optional.empty();
    }
    String text = new VariableSubstitution().substitute(sql);
    Option<LogicalPlan> theirs = theirs(text);
    List<String> table = kind.get().table(StatementText.of(text, FIRST_TOKENS));
    return theirs.isDefined() && !table.isEmpty() && !HudiTables.isHudi(session, table)
        ? Optional.of(theirs.get())
        : Optional.of(StatementCommand.of(kind.get(), text, theirs));
  }

  private Option<LogicalPlan> theirs(String text) {
    try {
      return Option.apply(next.parsePlan(text));
    } catch (Exception notTheirs) { // Scala's exceptions are not declared
      return Option.empty();
    }
  }

  @Override
  public Expression parseExpression(String sql) throws ParseException {
    return next.parseExpression(sql);
  }

  @Override
  public TableIdentifier parseTableIdentifier(String sql) throws ParseException {
    return next.parseTableIdentifier(sql);
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String sql) throws ParseException {
    return next.parseFunctionIdentifier(sql);
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String sql) throws ParseException {
    return next.parseMultipartIdentifier(sql);
  }

  @Override
  public LogicalPlan parseQuery(String sql) throws ParseException {
    return next.parseQuery(sql);
  }

  @Override
  public StructType parseTableSchema(String sql) throws ParseException {
    return next.parseTableSchema(sql);
  }

  @Override
  public DataType parseDataType(String sql) throws ParseException {
    return next.parseDataType(sql);
  }
}
