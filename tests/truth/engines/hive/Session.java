package io.pyhudi.truth;

import java.util.Map;
import java.util.TimeZone;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.ql.exec.MapredContext;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.exec.vector.expressions.VectorExpression;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.mapred.JobConf;

/**
 * A Hive session: its settings are where Hive's compiler and tasks put them for functions.
 *
 * @param state what functions ask in HiveServer2's JVM
 * @param conf what the state gives, to the compiler and to functions that are not configured
 * @param job what MapredContext gives to functions when they are configured
 */
record Session(Options options, SessionState state, HiveConf conf, JobConf job) {
  /** Where a query's rows are read and its functions evaluated. */
  enum Place {
    /** In HiveServer2's JVM, by the fetch task: no context of a task. */
    FETCH,
    /** In HiveServer2's JVM, by a task of the local mode: with the context and the session. */
    LOCAL,
    /** In a JVM of its own: with the context of a task, without a session. */
    CONTAINER
  }

  /**
   * @param zone of the session (hive.local.time.zone)
   * @param serverZone of HiveServer2's JVM
   * @param taskZone of the JVM where rows are read: Parquet's instants become wall clocks in it
   * @param settings of the session, by their names
   */
  record Options(
      String zone, String serverZone, String taskZone, Place place, Map<String, String> settings) {}

  /** To read the files of settings takes longer than to copy what is in them. */
  private static final HiveConf DEFAULTS = new HiveConf(SessionState.class);

  /** Starts a session in the thread, which is then where Hive compiles. */
  static Session start(Options options) throws HiveException {
    TimeZone.setDefault(TimeZone.getTimeZone(options.serverZone()));
    HiveConf conf = new HiveConf(DEFAULTS);
    conf.setVar(ConfVars.HIVE_LOCAL_TIME_ZONE, options.zone());
    conf.setVar(ConfVars.DOWNLOADED_RESOURCES_DIR, System.getProperty("java.io.tmpdir"));
    options.settings().forEach(conf::set);
    SessionState state = new SessionState(conf);
    SessionState.setCurrentSessionState(state);
    state.setupQueryCurrentTimestamp();
    // The compiler asks it for the settings; no metastore is needed.
    Hive.closeCurrent();
    Hive.getWithoutRegisterFns(conf);
    Session session = new Session(options, state, conf, new JobConf(conf));
    session.enterCompiler();
    return session;
  }

  /** From here on the thread is one of HiveServer2 that compiles a query of the session. */
  void enterCompiler() {
    TimeZone.setDefault(TimeZone.getTimeZone(options.serverZone()));
    SessionState.setCurrentSessionState(state);
    MapredContext.close();
  }

  /** From here on the thread is one that reads and evaluates rows. */
  void enterEvaluation() {
    TimeZone.setDefault(TimeZone.getTimeZone(options.taskZone()));
    if (options.place() == Place.CONTAINER) {
      SessionState.detachSession();
    }
    if (options.place() != Place.FETCH) {
      MapredContext.init(true, job);
    }
  }

  /** An expression as the place of evaluation gets it: containers read what the compiler wrote. */
  ExprNodeDesc sent(ExprNodeDesc expression) {
    ExprNodeDesc copy = expression.clone();
    return options.place() != Place.FETCH && copy instanceof ExprNodeGenericFuncDesc function
        ? SerializationUtilities.deserializeExpression(
            SerializationUtilities.serializeExpression(function))
        : copy;
  }

  /** A vectorised expression as the place of evaluation gets it. */
  VectorExpression sent(VectorExpression expression) {
    return options.place() == Place.FETCH
        ? expression
        : SerializationUtilities.deserializeObjectFromKryo(
            SerializationUtilities.serializeObjectToKryo(expression), expression.getClass());
  }
}
