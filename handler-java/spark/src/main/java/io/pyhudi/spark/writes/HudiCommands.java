package io.pyhudi.spark.writes;

import java.net.URI;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.hudi.command.CreateHoodieTableAsSelectCommand;
import org.apache.spark.sql.hudi.command.CreateHoodieTableCommand;
import org.apache.spark.sql.hudi.command.DeleteHoodieTableCommand;
import org.apache.spark.sql.hudi.command.InsertIntoHoodieTableCommand;
import org.apache.spark.sql.hudi.command.MergeIntoHoodieTableCommand;
import org.apache.spark.sql.hudi.command.UpdateHoodieTableCommand;
import scala.Option;
import scala.collection.JavaConverters;

/**
 * Hudi's commands of SQL that write rows. Hudi takes what neither a statement nor its session says
 * from the table's properties in the catalog; ours are added to those, in the plan alone.
 */
final class HudiCommands {
  private HudiCommands() {}

  static Optional<TableWrite> write(SparkSession session, LogicalPlan plan) {
    if (plan instanceof CreateHoodieTableCommand) {
      return Optional.of(creation(session, plan, ((CreateHoodieTableCommand) plan).table()));
    }
    if (plan instanceof CreateHoodieTableAsSelectCommand) {
      return Optional.of(
          creation(session, plan, ((CreateHoodieTableAsSelectCommand) plan).table()));
    }
    if (plan instanceof InsertIntoHoodieTableCommand) {
      InsertIntoHoodieTableCommand insert = (InsertIntoHoodieTableCommand) plan;
      return intoTarget(
          insert.logicalRelation(),
          target ->
              insert.copy(
                  (LogicalRelation) target,
                  insert.query(),
                  insert.partitionSpec(),
                  insert.overwrite()));
    }
    if (plan instanceof UpdateHoodieTableCommand) {
      UpdateHoodieTableCommand update = (UpdateHoodieTableCommand) plan;
      UpdateTable statement = update.ut();
      return intoTarget(
          statement.table(),
          target ->
              update.copy(
                  (UpdateTable) withChild(statement, statement.table(), target), update.query()));
    }
    if (plan instanceof MergeIntoHoodieTableCommand) {
      MergeIntoHoodieTableCommand merge = (MergeIntoHoodieTableCommand) plan;
      MergeIntoTable statement = merge.mergeInto();
      return intoTarget(
          statement.targetTable(),
          target ->
              merge.copy((MergeIntoTable) withChild(statement, statement.targetTable(), target)));
    }
    if (plan instanceof DeleteHoodieTableCommand) {
      DeleteHoodieTableCommand delete = (DeleteHoodieTableCommand) plan;
      return Optional.of(
          new TableWrite(
              delete.catalogTable().tableLocation(),
              JavaConverters.mapAsJavaMap(delete.config()),
              options ->
                  delete.copy(
                      delete.catalogTable(),
                      delete.query(),
                      ScalaMaps.with(delete.config(), options))));
    }
    return Optional.empty();
  }

  /** A new table has the indexes of its properties, and one that is there is registered only. */
  private static TableWrite creation(SparkSession session, LogicalPlan plan, CatalogTable table) {
    Option<URI> location = table.storage().locationUri();
    URI path =
        location.isDefined()
            ? location.get()
            : session.sessionState().catalog().defaultTablePath(table.identifier());
    return new TableWrite(path.toString(), properties(table), options -> plan);
  }

  private static Optional<TableWrite> intoTarget(
      LogicalPlan target, Function<LogicalPlan, LogicalPlan> command) {
    return relation(target)
        .flatMap(HudiCommands::table)
        .map(
            table ->
                new TableWrite(
                    table.location().toString(),
                    properties(table),
                    options -> command.apply(withProperties(target, options))));
  }

  private static Optional<LogicalRelation> relation(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      return Optional.of((LogicalRelation) plan);
    }
    return plan.children().size() == 1 ? relation(plan.children().head()) : Optional.empty();
  }

  private static Optional<CatalogTable> table(LogicalRelation relation) {
    Option<CatalogTable> table = relation.catalogTable();
    return table.isDefined() ? Optional.of(table.get()) : Optional.empty();
  }

  private static Map<String, String> properties(CatalogTable table) {
    Map<String, String> properties = new HashMap<>();
    properties.putAll(JavaConverters.mapAsJavaMap(table.storage().properties()));
    properties.putAll(JavaConverters.mapAsJavaMap(table.properties()));
    return Collections.unmodifiableMap(properties);
  }

  private static LogicalPlan withProperties(LogicalPlan plan, Map<String, String> options) {
    if (!(plan instanceof LogicalRelation)) {
      return plan.mapChildren(child -> withProperties(child, options));
    }
    LogicalRelation relation = (LogicalRelation) plan;
    CatalogTable table = relation.catalogTable().get();
    return relation.copy(
        relation.relation(),
        relation.output(),
        Option.apply(TableProperties.with(table, options)),
        relation.isStreaming());
  }

  private static LogicalPlan withChild(LogicalPlan plan, LogicalPlan old, LogicalPlan child) {
    return plan.mapChildren(each -> each == old ? child : each);
  }
}
