package io.pyhudi.spark.writes;

import io.pyhudi.spark.plans.LeafCommand;
import io.pyhudi.spark.statements.StatementCommand;
import io.pyhudi.spark.statements.StatementKind;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** A write, and the refresh of the extension's indexes after its commit. */
public final class FollowedWrite extends LeafCommand {
  private static final Logger LOG = LoggerFactory.getLogger(FollowedWrite.class);

  private final LogicalPlan write;
  private final String path;

  /** Returns a plan of a write into the table with this base path. */
  public FollowedWrite(LogicalPlan write, String path) {
    super(write.output(), write, path);
    this.write = write;
    this.path = path;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    write.setAnalyzed(); // or the rule that has made this plan would make it again
    List<Row> rows = Dataset.ofRows(session, write).collectAsList();
    String name = path.replace("\\", "\\\\").replace("'", "\\'");
    try {
      StatementCommand.of(StatementKind.REFRESH_INDEXES, "REFRESH INDEXES ON '" + name + "'")
          .run(session);
    } catch (Exception error) { // the commit is done, and an index that lags loses no row
      LOG.warn("{}: its indexes are not refreshed: {}", path, error.toString());
    }
    return JavaConverters.asScalaBuffer(rows).toList();
  }
}
