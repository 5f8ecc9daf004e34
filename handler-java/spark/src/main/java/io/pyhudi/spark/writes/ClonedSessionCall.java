package io.pyhudi.spark.writes;

import io.pyhudi.spark.plans.LeafCommand;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.hudi.command.CallProcedureHoodieCommand;
import org.apache.spark.sql.hudi.command.procedures.Procedure;
import org.apache.spark.sql.hudi.command.procedures.ProcedureBuilder;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Map;

/**
 * A procedure of Hudi in a clone of its session that has more settings: it takes the options of its
 * writer from the session alone. The user's own session is not changed, as settings of one table
 * would build indexes of others.
 */
public final class ClonedSessionCall extends LeafCommand {
  private final CallProcedureHoodieCommand call;
  private final Map<String, String> settings;

  /** Returns a plan of a call with these settings. */
  public ClonedSessionCall(CallProcedureHoodieCommand call, Map<String, String> settings) {
    super(call.output(), call, settings);
    this.call = call;
    this.settings = settings;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    SparkSession clone = session.cloneSession();
    JavaConverters.mapAsJavaMap(settings).forEach(clone.conf()::set);
    SparkSession.setActiveSession(clone);
    try {
      // A procedure keeps the session that was active when it was built.
      Procedure again = ((ProcedureBuilder) call.procedure()).build();
      return call.copy(again, call.args()).run(clone);
    } finally {
      SparkSession.setActiveSession(session);
      // The procedure has refreshed its table in the clone.
      session.sessionState().catalog().invalidateAllCachedTables();
    }
  }
}
