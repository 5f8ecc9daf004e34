package io.pyhudi.spark.writes;

import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.execution.command.AlterTableSetPropertiesCommand;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import scala.collection.JavaConverters;

/** A command that writes into a Hudi table, and what its options are. */
final class TableWrite {
  private static final String HUDI_SOURCES = "org.apache.hudi.";
  private static final String HUDI_COMMANDS = "org.apache.spark.sql.hudi.command.";
  static final String PATH = "path";
  private static final String OPERATION = "hoodie.datasource.write.operation";

  private final String path;
  private final Map<String, String> given;
  private final Function<Map<String, String>, LogicalPlan> completed;
  private final Kind kind;

  /** What a write does with the indexes that its table has. */
  enum Kind {
    /** It writes rows, and makes what Hudi enables. */
    ROWS,
    /** It deletes the table, and makes another one, which has its writer's indexes. */
    REPLACING,
    /** It makes no index that is not there. */
    MAINTENANCE
  }

  /** A write of rows. */
  TableWrite(
      String path,
      Map<String, String> given,
      Function<Map<String, String>, LogicalPlan> completed) {
    this(path, given, completed, Kind.ROWS);
  }

  /**
   * @param path the table
   * @param given the write's own options
   * @param completed the same command with more options
   */
  TableWrite(
      String path,
      Map<String, String> given,
      Function<Map<String, String>, LogicalPlan> completed,
      Kind kind) {
    this.path = path;
    this.given = given;
    this.completed = completed;
    this.kind = kind;
  }

  /** Returns the write that a plan is; none: it is another one. */
  static Optional<TableWrite> of(SparkSession session, LogicalPlan plan) {
    if (plan instanceof SaveIntoDataSourceCommand) {
      return saved((SaveIntoDataSourceCommand) plan);
    }
    // Hudi's classes are named where they are there alone.
    if (plan instanceof WriteToStream) {
      return isHudi(((WriteToStream) plan).sink())
          ? HudiStreams.write(session, (WriteToStream) plan)
          : Optional.empty();
    }
    if (plan instanceof AlterTableSetPropertiesCommand) {
      return withProperties(session, (AlterTableSetPropertiesCommand) plan);
    }
    if (!plan.getClass().getName().startsWith(HUDI_COMMANDS)) {
      return Optional.empty();
    }
    Optional<TableWrite> rows = HudiCommands.write(session, plan);
    return rows.isPresent() ? rows : HudiMaintenance.write(session, plan);
  }

  private static boolean isHudi(Object source) {
    return source.getClass().getName().startsWith(HUDI_SOURCES);
  }

  String path() {
    return path;
  }

  Kind kind() {
    return kind;
  }

  Map<String, String> given() {
    return given;
  }

  LogicalPlan with(Map<String, String> options) {
    return completed.apply(options);
  }

  /** What the catalog says of a Hudi table are options of statements that write into it. */
  private static Optional<TableWrite> withProperties(
      SparkSession session, AlterTableSetPropertiesCommand command) {
    CatalogTable table =
        session.sessionState().catalog().getTempViewOrPermanentTableMetadata(command.tableName());
    boolean isHudi = table.provider().exists(name -> name.equalsIgnoreCase("hudi"));
    return isHudi
        ? Optional.of(
            new TableWrite(
                table.location().toString(),
                JavaConverters.mapAsJavaMap(command.properties()),
                options -> command))
        : Optional.empty();
  }

  private static Optional<TableWrite> saved(SaveIntoDataSourceCommand command) {
    Map<String, String> options = JavaConverters.mapAsJavaMap(command.options());
    String path = options.get(PATH);
    if (!isHudi(command.dataSource()) || path == null) {
      return Optional.empty();
    }
    return Optional.of(
        new TableWrite(
            path,
            options,
            more ->
                command.copy(
                    command.query(),
                    command.dataSource(),
                    ScalaMaps.with(command.options(), more),
                    command.mode()),
            kind(command.mode(), options)));
  }

  private static Kind kind(SaveMode mode, Map<String, String> options) {
    return mode == SaveMode.Overwrite
            && !options.getOrDefault(OPERATION, "").startsWith("insert_overwrite")
        ? Kind.REPLACING
        : Kind.ROWS;
  }
}
