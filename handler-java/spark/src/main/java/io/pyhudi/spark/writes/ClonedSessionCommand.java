package io.pyhudi.spark.writes;

import io.pyhudi.spark.plans.LeafCommand;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.hudi.command.CallProcedureHoodieCommand;
import org.apache.spark.sql.hudi.command.procedures.Procedure;
import org.apache.spark.sql.hudi.command.procedures.ProcedureBuilder;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Map;

/**
 * A command of Hudi in a clone of its session that has more settings. Hudi's procedures, and its
 * commands that change no rows, take the options of their writers from the session alone. The
 * user's own session is not changed, as settings of one table would build indexes of others.
 */
public final class ClonedSessionCommand extends LeafCommand {
  private final LogicalPlan command;
  private final Map<String, String> settings;

  /** Returns a plan of a command without children. */
  public ClonedSessionCommand(LogicalPlan command, Map<String, String> settings) {
    super(command.output(), command, settings);
    this.command = command;
    this.settings = settings;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    SparkSession clone = session.cloneSession();
    JavaConverters.mapAsJavaMap(settings).forEach(clone.conf()::set);
    SparkSession.setActiveSession(clone);
    try {
      return ((RunnableCommand) inActiveSession()).run(clone);
    } finally {
      SparkSession.setActiveSession(session);
      // The command has refreshed its table in the clone.
      session.sessionState().catalog().invalidateAllCachedTables();
    }
  }

  /** A procedure keeps the session that was active when it was built. */
  private LogicalPlan inActiveSession() {
    if (!(command instanceof CallProcedureHoodieCommand)) {
      return command;
    }
    CallProcedureHoodieCommand call = (CallProcedureHoodieCommand) command;
    Procedure again = ((ProcedureBuilder) call.procedure()).build();
    return call.copy(again, call.args());
  }
}
