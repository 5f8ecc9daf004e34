package io.pyhudi.spark.statements;

import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.types.StructType;
import scala.collection.JavaConverters;

/** One run of a write with virtual keys, whose rows are those of a plan of the session. */
public final class WriteRun extends StatementRun {
  private static final StructType NO_RESULT = new StructType();

  private final SaveIntoDataSourceCommand write;

  WriteRun(SparkSession session, SaveIntoDataSourceCommand write) {
    super(session, write.nodeName(), NO_RESULT);
    this.write = write;
  }

  @Override
  public WriteRun write() {
    return this;
  }

  /** Returns the rows. */
  public Dataset<Row> frame() {
    return Dataset.ofRows(session(), write.query());
  }

  /** Returns the table's base path. */
  public String path() {
    return options().get("path");
  }

  /** Returns the options of the writer. */
  public Map<String, String> options() {
    return JavaConverters.mapAsJavaMap(write.options());
  }

  /** Returns what is done about a table that is there, in lower case. */
  public String mode() {
    return write.mode().name().toLowerCase(Locale.ROOT);
  }
}
