package io.pyhudi.spark.writes;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.hudi.command.CallProcedureHoodieCommand;
import org.apache.spark.sql.hudi.command.procedures.BaseProcedure;
import org.apache.spark.sql.hudi.command.procedures.CopyToTempViewProcedure;
import org.apache.spark.sql.hudi.command.procedures.ProcedureArgs;
import org.apache.spark.sql.hudi.command.procedures.ProcedureBuilder;
import org.apache.spark.sql.hudi.command.procedures.ProcedureParameter;
import scala.Option;

/**
 * Hudi's procedures. Each makes a writer by the settings of its session, and a writer deletes the
 * indexes that these do not enable.
 */
final class HudiProcedures {
  private HudiProcedures() {}

  /** Returns the write that a procedure may make; none: it names no table. */
  static Optional<TableWrite> write(CallProcedureHoodieCommand call) {
    return location(call).map(path -> write(call, path));
  }

  private static TableWrite write(CallProcedureHoodieCommand call, String path) {
    Map<String, String> given = Collections.emptyMap();
    return new TableWrite(
        path,
        given,
        options -> options.isEmpty() ? call : new ClonedSessionCall(call, ScalaMaps.of(options)));
  }

  private static Optional<String> location(CallProcedureHoodieCommand call) {
    // What that one makes is of the session itself.
    return call.procedure() instanceof CopyToTempViewProcedure
            || !(call.procedure() instanceof BaseProcedure)
            || !(call.procedure() instanceof ProcedureBuilder)
        ? Optional.empty()
        : location((BaseProcedure) call.procedure(), call.args());
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
