package io.pyhudi.spark.statements;

import io.pyhudi.spark.plans.ChangedTables;
import io.pyhudi.spark.service.AskedConditions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * One run of a statement: what the process of Python asks for, and what it returns. It calls the
 * public methods by Py4J (`pyhudi_expr.spark.statements`), in another thread.
 */
public class StatementRun {
  private enum Outcome {
    NONE,
    DONE,
    FAILED,
    NOT_UNDERSTOOD
  }

  private final SparkSession session;
  private final String text;
  private final StructType columns;
  private final List<Row> rows = new ArrayList<>();
  private Outcome outcome = Outcome.NONE;
  private String message = "";

  StatementRun(SparkSession session, String text, StructType columns) {
    this.session = session;
    this.text = text;
    this.columns = columns;
  }

  /** Returns the session in which the statement was given. */
  public SparkSession session() {
    return session;
  }

  /** Returns the context of its application. */
  public JavaSparkContext context() {
    return JavaSparkContext.fromSparkContext(session.sparkContext());
  }

  /** Returns the statement. */
  public String text() {
    return text;
  }

  /** Returns the write that is asked for; null: a statement is. */
  public WriteRun write() {
    return null;
  }

  /** Returns the conditions by which the application has read a table lately, as SQL. */
  public List<String> asked(String table) {
    Configuration conf = session.sessionState().newHadoopConf();
    Path wanted = qualified(table, conf);
    return AskedConditions.about(asked -> qualified(asked, conf).equals(wanted));
  }

  private static Path qualified(String table, Configuration conf) {
    Path path = new Path(table);
    try {
      return path.getFileSystem(conf).makeQualified(path);
    } catch (IOException e) {
      throw new UncheckedIOException(table + ": its file system cannot be opened", e);
    }
  }

  /**
   * Takes the news that the files of a table were rewritten.
   *
   * @param table the base path
   * @param instant the requested time of the commit that did
   */
  public void rewritten(String table, String instant) {
    Configuration conf = session.sessionState().newHadoopConf();
    ChangedTables.add(qualified(table, conf).toString(), instant);
    // The writer's own relations of the table: Hudi would look for rows in files of before.
    session.sessionState().catalog().invalidateAllCachedTables();
  }

  /** Takes a row of the result. */
  public synchronized void row(List<Object> values) {
    Object[] converted = new Object[values.size()];
    for (int i = 0; i < converted.length; i++) {
      converted[i] = converted(values.get(i), columns.fields()[i].dataType());
    }
    rows.add(RowFactory.create(converted));
  }

  /** Takes the news that all rows were given. */
  public synchronized void done() {
    outcome = Outcome.DONE;
  }

  /** Takes the error of a statement that failed. */
  public synchronized void failed(String error) {
    outcome = Outcome.FAILED;
    message = error;
  }

  /** Takes the error of a text that is no statement of ours. */
  public synchronized void notUnderstood(String error) {
    outcome = Outcome.NOT_UNDERSTOOD;
    message = error;
  }

  synchronized boolean isUnderstood() {
    return outcome != Outcome.NOT_UNDERSTOOD;
  }

  synchronized List<Row> rows() {
    return rows;
  }

  /** Returns the error of a text that is no statement of ours. */
  synchronized RuntimeException misunderstanding() {
    Origin nowhere = CurrentOrigin.get();
    return StatementErrors.unchecked(
        new ParseException(
            Option.apply(text),
            message,
            nowhere,
            nowhere,
            ParseException.$lessinit$greater$default$5(),
            ParseException.$lessinit$greater$default$6(),
            ParseException.$lessinit$greater$default$7()));
  }

  /**
   * Checks that the process has reported how the statement ended.
   *
   * @param ending how the process has ended, and its last lines
   */
  synchronized void checkEnded(String ending) {
    if (outcome == Outcome.FAILED) {
      throw StatementErrors.unchecked(new QueryExecutionException(message, null));
    }
    if (outcome == Outcome.NONE) {
      throw StatementErrors.unchecked(new QueryExecutionException(ending, null));
    }
  }

  private static Object converted(Object value, DataType type) {
    if (value instanceof Number && type.equals(DataTypes.LongType)) {
      return ((Number) value).longValue();
    }
    if (value instanceof Number && type.equals(DataTypes.DoubleType)) {
      return ((Number) value).doubleValue();
    }
    return value;
  }
}
