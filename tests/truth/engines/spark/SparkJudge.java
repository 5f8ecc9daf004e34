package io.pyhudi.spark.read;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyhudi.spark.shared.protocol.PruneRequest;
import io.pyhudi.spark.shared.protocol.SparkCondition;
import io.pyhudi.spark.shared.protocol.TableView;
import io.pyhudi.spark.shaded.thrift.TException;
import io.pyhudi.spark.shaded.thrift.TSerializer;
import io.pyhudi.spark.shaded.thrift.protocol.TCompactProtocol;
import io.pyhudi.spark.service.PruningConf;
import io.pyhudi.spark.service.Questions;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.runtime.AbstractPartialFunction;

/**
 * Says what predicates give for the rows of a Parquet file, by Spark's own reader, optimizer and
 * expressions, and what the extension asks the pruning service for a scan with each of them.
 *
 * <p>Predicates are analysed in the session as it is then. What runs later does so in the session
 * as it is later.
 */
public final class SparkJudge {
  private static final byte FALSE = 0;
  private static final byte TRUE = 1;
  private static final byte NULL = 2;

  /** The evaluation fails: a query that reads the row has no result. */
  private static final byte FAILED = 3;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final SparkSession session;
  private final Dataset<Row> file;
  private final List<Analysed> predicates;

  private SparkJudge(SparkSession session, Dataset<Row> file, List<Analysed> predicates) {
    this.session = session;
    this.file = file;
    this.predicates = predicates;
  }

  /**
   * A predicate in the session in which it is analysed.
   *
   * @param truth a row of its truth value for each row
   * @param filtered the rows that it selects
   * @param failure why it is not valid, or null
   */
  private record Analysed(Dataset<Row> truth, Dataset<Row> filtered, String failure) {
    static Analysed of(Dataset<Row> rows, String predicate) {
      try {
        return new Analysed(
            rows.selectExpr("(" + predicate + ") = true AS c"), rows.where(predicate), null);
      } catch (Exception | LinkageError | StackOverflowError e) {
        return new Analysed(null, null, e.toString());
      }
    }

    /** The same by temporary views, whose texts are analysed when they are read. */
    static Analysed ofView(SparkSession session, String rows, String predicate, String name) {
      try {
        String truths = " AS SELECT (" + predicate + ") = true AS c FROM " + rows;
        session.sql("CREATE OR REPLACE TEMP VIEW truth_" + name + truths);
        String selected = " AS SELECT * FROM " + rows + " WHERE " + predicate;
        session.sql("CREATE OR REPLACE TEMP VIEW filtered_" + name + selected);
        return new Analysed(session.table("truth_" + name), session.table("filtered_" + name), null);
      } catch (Exception | LinkageError | StackOverflowError e) {
        return new Analysed(null, null, e.toString());
      }
    }
  }

  /** Analyses predicates as conditions of DataFrames. */
  public static SparkJudge ofFrames(SparkSession session, String path, List<String> predicates) {
    Dataset<Row> file = session.read().parquet(path);
    return new SparkJudge(
        session, file, predicates.stream().map(text -> Analysed.of(file, text)).toList());
  }

  /** Analyses predicates as conditions of temporary views. */
  public static SparkJudge ofViews(SparkSession session, String path, List<String> predicates) {
    Dataset<Row> file = session.read().parquet(path);
    file.createOrReplaceTempView("truth_rows");
    List<Analysed> analysed = new ArrayList<>();
    for (String text : predicates) {
      analysed.add(Analysed.ofView(session, "truth_rows", text, "p" + analysed.size()));
    }
    return new SparkJudge(session, file, analysed);
  }

  /** The rows that a predicate selects. */
  public Dataset<Row> filtered(int predicate) {
    return predicates.get(predicate).filtered();
  }

  /**
   * Evaluates the predicates in the session as it is now.
   *
   * @return for each predicate a byte: 0 and the reason for which there is no answer; or 1, the
   *     truth value of each row, whether a filter selects it, and the extension's request, or
   *     nothing
   */
  public byte[] answers() throws IOException {
    SparkSession.setActiveSession(session);
    List<InternalRow> rows = rows();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    for (Analysed predicate : predicates) {
      write(out, predicate, rows);
    }
    return bytes.toByteArray();
  }

  private void write(DataOutputStream out, Analysed predicate, List<InternalRow> rows)
      throws IOException {
    try {
      if (predicate.failure() != null) {
        throw new IllegalArgumentException(predicate.failure());
      }
      byte[] truths = truths(predicate.truth(), rows);
      LogicalPlan filtered = predicate.filtered().queryExecution().optimizedPlan();
      byte[] selected = selected(filtered, rows);
      byte[] request = request(filtered);
      out.writeByte(1);
      out.write(truths);
      out.write(selected);
      writeSized(out, request);
    } catch (Exception | LinkageError | StackOverflowError e) {
      out.writeByte(0);
      writeSized(out, e.toString().getBytes(StandardCharsets.UTF_8));
    }
  }

  private static void writeSized(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private List<InternalRow> rows() {
    return session
        .read()
        .parquet(file.inputFiles()[0])
        .queryExecution()
        .toRdd()
        .toJavaRDD()
        .map(InternalRow::copy)
        .collect();
  }

  private static byte[] truths(Dataset<Row> truth, List<InternalRow> rows) {
    return evaluated(onlyColumn(truth), rows);
  }

  /** The expression that a plan of one column over a relation computes. */
  private static Expression onlyColumn(Dataset<Row> one) {
    LogicalPlan plan = one.queryExecution().optimizedPlan();
    if (plan instanceof Project && ((Project) plan).child() instanceof LogicalRelation) {
      Project project = (Project) plan;
      LogicalRelation relation = (LogicalRelation) project.child();
      Expression column = (Expression) project.projectList().head();
      Expression value = column instanceof Alias ? ((Alias) column).child() : column;
      return value.transformUp(new Bound(new ArrayList<>(Scala.list(relation.output()))));
    }
    throw new IllegalArgumentException("a plan of another form: " + plan);
  }

  private static byte[] evaluated(Expression bound, List<InternalRow> rows) {
    byte[] truths = new byte[rows.size()];
    for (int i = 0; i < truths.length; i++) {
      try {
        Object value = bound.eval(rows.get(i));
        truths[i] = value == null ? NULL : (Boolean) value ? TRUE : FALSE;
      } catch (RuntimeException e) {
        truths[i] = FAILED;
      }
    }
    return truths;
  }

  /** The rows that the filters of a plan select: TRUE, all others NULL or FAILED. */
  private static byte[] selected(LogicalPlan filtered, List<InternalRow> rows) {
    byte[] truths = new byte[rows.size()];
    Arrays.fill(truths, TRUE);
    LogicalPlan plan = filtered;
    List<Expression> conditions = new ArrayList<>();
    for (; !plan.children().isEmpty(); plan = plan.children().head()) {
      if (plan instanceof Filter) {
        conditions.add(((Filter) plan).condition());
      }
    }
    if (!(plan instanceof LogicalRelation)) {
      // The optimizer found that no row can match.
      Arrays.fill(truths, NULL);
      return truths;
    }
    for (Expression condition : conditions) {
      byte[] own =
          evaluated(condition.transformUp(new Bound(Scala.list(plan.output()))), rows);
      for (int i = 0; i < truths.length; i++) {
        if (own[i] == FAILED || truths[i] == FAILED) {
          truths[i] = FAILED;
        } else if (own[i] != TRUE) {
          truths[i] = NULL;
        }
      }
    }
    return truths;
  }

  /** The extension's request about the relation below a plan's filters; empty: it asks nothing. */
  private byte[] request(LogicalPlan filtered) throws TException {
    List<Expression> above = new ArrayList<>();
    LogicalPlan plan = filtered;
    for (; !plan.children().isEmpty(); plan = plan.children().head()) {
      above = Conditions.below(plan, above);
    }
    List<Attribute> columns = new ArrayList<>(Scala.list(plan.output()));
    List<Expression> conjuncts =
        Scala.list(DataSourceStrategy$.MODULE$.normalizeExprs(Scala.seq(above), Scala.seq(columns)));
    SparkCondition condition = ConditionEncoder.encode(conjuncts, false);
    if (condition == null || !(plan instanceof LogicalRelation)) {
      return new byte[0];
    }
    PruneRequest request =
        new Questions(session, PruningConf.of(session))
            .request(
                "/table", condition, SparkSemantics.of(session, conjuncts), TableView.SNAPSHOT);
    return new TSerializer(new TCompactProtocol.Factory()).serialize(request);
  }

  /**
   * The values of terms, as a list in JSON: of each a map of its type and its values, or of the
   * failure.
   */
  public static String values(SparkSession session, String path, List<String> terms)
      throws IOException {
    SparkSession.setActiveSession(session);
    SparkJudge judge = ofFrames(session, path, List.of());
    List<InternalRow> rows = judge.rows();
    List<Map<String, Object>> found = new ArrayList<>();
    for (String term : terms) {
      found.add(judge.values(term, rows));
    }
    return JSON.writeValueAsString(found);
  }

  private Map<String, Object> values(String term, List<InternalRow> rows) {
    Map<String, Object> found = new HashMap<>();
    try {
      Expression value = onlyColumn(file.selectExpr(term + " AS c"));
      List<Object> values = new ArrayList<>();
      for (InternalRow row : rows) {
        values.add(valueOf(value, row));
      }
      found.put("type", value.dataType().simpleString());
      found.put("values", values);
    } catch (Exception | LinkageError | StackOverflowError e) {
      found.put("failure", e.toString());
    }
    return found;
  }

  /** A value as a boolean, an integer (also of times) or a text; null for a failure. */
  private static Object valueOf(Expression expression, InternalRow row) {
    Object value;
    try {
      value = expression.eval(row);
    } catch (RuntimeException e) {
      return null;
    }
    boolean isExact =
        value == null
            || value instanceof Boolean
            || value instanceof Number && !(value instanceof Float || value instanceof Double);
    return isExact ? value : value.toString();
  }

  /** Attributes as columns of rows. */
  private static final class Bound extends AbstractPartialFunction<Expression, Expression> {
    private final List<Attribute> columns;

    Bound(List<Attribute> columns) {
      this.columns = columns;
    }

    @Override
    public boolean isDefinedAt(Expression expression) {
      return expression instanceof AttributeReference;
    }

    @Override
    public Expression apply(Expression expression) {
      AttributeReference reference = (AttributeReference) expression;
      for (int i = 0; i < columns.size(); i++) {
        if (columns.get(i).exprId().equals(reference.exprId())) {
          return new BoundReference(i, reference.dataType(), reference.nullable());
        }
      }
      throw new IllegalArgumentException("no column " + reference);
    }
  }
}
