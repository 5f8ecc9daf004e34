package io.pyhudi.spark.writes;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.hudi.command.AlterHoodieTableAddColumnsCommand;
import org.apache.spark.sql.hudi.command.AlterHoodieTableChangeColumnCommand;
import org.apache.spark.sql.hudi.command.AlterHoodieTableDropPartitionCommand;
import org.apache.spark.sql.hudi.command.AlterTableCommand;
import org.apache.spark.sql.hudi.command.CallProcedureHoodieCommand;
import org.apache.spark.sql.hudi.command.TruncateHoodieTableCommand;
import org.apache.spark.sql.hudi.command.procedures.BaseProcedure;
import org.apache.spark.sql.hudi.command.procedures.CopyToTempViewProcedure;
import org.apache.spark.sql.hudi.command.procedures.ProcedureArgs;
import org.apache.spark.sql.hudi.command.procedures.ProcedureBuilder;
import org.apache.spark.sql.hudi.command.procedures.ProcedureParameter;
import scala.Option;

/**
 * Hudi's procedures, and its commands that change a table's schema, partitions or services. Each
 * makes a writer, by the settings of its session, and a writer deletes indexes that these do not
 * enable, and makes what they do: a restore that makes {@code column_stats} fails, or leaves it
 * declared and without files.
 */
final class HudiMaintenance {
  private static final String[] NO_OPTIONS = {};

  private HudiMaintenance() {}

  /** Returns the write that a command may make; none: it is another command, or of no table. */
  static Optional<TableWrite> write(SparkSession session, LogicalPlan plan) {
    return location(session, plan).map(path -> write(plan, path));
  }

  private static TableWrite write(LogicalPlan plan, String path) {
    return new TableWrite(
        path,
        given(plan),
        options -> options.isEmpty() ? plan : new ClonedSessionCommand(plan, ScalaMaps.of(options)),
        TableWrite.Kind.MAINTENANCE);
  }

  /** Returns the options of its writer that a procedure is told. */
  private static Map<String, String> given(LogicalPlan plan) {
    Map<String, String> given = new HashMap<>();
    if (plan instanceof CallProcedureHoodieCommand) {
      CallProcedureHoodieCommand call = (CallProcedureHoodieCommand) plan;
      Option<Object> options = argument((BaseProcedure) call.procedure(), call.args(), "options");
      for (String option : options.isDefined() ? options.get().toString().split(",") : NO_OPTIONS) {
        String[] parts = option.split("=", 2);
        given.put(parts[0].trim(), parts[parts.length - 1].trim());
      }
    }
    return given;
  }

  private static Optional<String> location(SparkSession session, LogicalPlan plan) {
    if (plan instanceof CallProcedureHoodieCommand) {
      CallProcedureHoodieCommand call = (CallProcedureHoodieCommand) plan;
      // What that one makes is of the session itself.
      return call.procedure() instanceof CopyToTempViewProcedure
              || !(call.procedure() instanceof BaseProcedure)
              || !(call.procedure() instanceof ProcedureBuilder)
          ? Optional.empty()
          : location((BaseProcedure) call.procedure(), call.args());
    }
    if (plan instanceof AlterTableCommand) {
      return location(((AlterTableCommand) plan).table());
    }
    if (plan instanceof AlterHoodieTableAddColumnsCommand) {
      return location(session, ((AlterHoodieTableAddColumnsCommand) plan).tableId());
    }
    if (plan instanceof AlterHoodieTableChangeColumnCommand) {
      return location(session, ((AlterHoodieTableChangeColumnCommand) plan).tableIdentifier());
    }
    if (plan instanceof AlterHoodieTableDropPartitionCommand) {
      return location(session, ((AlterHoodieTableDropPartitionCommand) plan).tableIdentifier());
    }
    if (plan instanceof TruncateHoodieTableCommand) {
      return location(session, ((TruncateHoodieTableCommand) plan).tableIdentifier());
    }
    return compacted(plan);
  }

  /** Hudi deprecates these commands, and its parser still makes them. */
  @SuppressWarnings("deprecation")
  private static Optional<String> compacted(LogicalPlan plan) {
    if (plan instanceof org.apache.spark.sql.hudi.command.CompactionHoodiePathCommand) {
      return Optional.of(
          ((org.apache.spark.sql.hudi.command.CompactionHoodiePathCommand) plan).path());
    }
    if (plan instanceof org.apache.spark.sql.hudi.command.CompactionHoodieTableCommand) {
      return location(
          ((org.apache.spark.sql.hudi.command.CompactionHoodieTableCommand) plan).table());
    }
    return Optional.empty();
  }

  private static Optional<String> location(SparkSession session, TableIdentifier name) {
    return location(session.sessionState().catalog().getTempViewOrPermanentTableMetadata(name));
  }

  private static Optional<String> location(CatalogTable table) {
    return Optional.of(table.location().toString());
  }

  private static Optional<String> location(BaseProcedure procedure, ProcedureArgs arguments) {
    Option<Object> table = argument(procedure, arguments, "table");
    Option<Object> path = argument(procedure, arguments, "path");
    return table.isDefined() || path.isDefined()
        ? Optional.of(procedure.getBasePath(table, path))
        : Optional.empty();
  }

  private static Option<Object> argument(
      BaseProcedure procedure, ProcedureArgs arguments, String name) {
    for (ProcedureParameter parameter : procedure.parameters()) {
      if (parameter.name().equals(name)) {
        return procedure.getArgValueOrDefault(arguments, parameter);
      }
    }
    return Option.empty();
  }
}
