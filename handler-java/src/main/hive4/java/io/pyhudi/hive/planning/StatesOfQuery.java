package io.pyhudi.hive.planning;

import io.pyhudi.hive.table.StateException;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.optimizer.calcite.CalciteSubqueryRuntimeException;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps apart the states of a table that one query reads.
 *
 * <p>Hive 4 compares scans in two places without the state that they name. Its cost-based optimizer
 * takes two scans of a table under one alias for one; without it, that does not happen. Tez's
 * shared work merges all scans of a table. Both would read every scan in the first one's state.
 *
 * <p>Both calls come from the thread that compiles the query, where {@link Hive#get()} has the
 * query's own configuration. It keeps what is remembered here, until the query's end.
 */
public final class StatesOfQuery {
  private static final Logger LOG = LoggerFactory.getLogger(StatesOfQuery.class);
  private static final String UNCHECKED = "pyhudi.states.unchecked.query";
  private static final String QUERY_ID = "hive.query.id";
  private static final String RECOMPILE = "hive.query.reexecution.enabled";
  private static final String PLANNER_METHOD = "genTableLogicalPlan";

  /** The planner's method calls the storage handler itself, or through one of the table. */
  private static final int FRAMES = 6;

  private StatesOfQuery() {}

  /** A clause of the query has named the state of a table. */
  public static void named() {
    HiveConf conf = conf();
    conf.setBoolean("hive.optimize.shared.work", false);
    // It would take the ranges of one state's columns for those of the other.
    conf.setBoolean("hive.optimize.filter.stats.reduction", false);
    conf.set(UNCHECKED, conf.get(QUERY_ID, ""));
  }

  /**
   * A table is about to be scanned; does nothing unless the cost-based optimizer plans it.
   *
   * @throws StateException if it would mix the states of a table: Hive then plans the query without
   *     it
   * @throws CalciteSubqueryRuntimeException the same, if Hive cannot plan the query without it
   */
  public static void scanned() {
    if (!isPlannedByCost()) {
      return;
    }
    HiveConf conf = conf();
    if (!conf.get(QUERY_ID, "").equals(conf.get(UNCHECKED))) {
      return;
    }
    StatesInText text = StatesInText.of(conf.getQueryString());
    if (text.problem() == null) {
      conf.unset(UNCHECKED);
    } else if (text.needsCostBasedOptimizer() || !conf.getBoolean(RECOMPILE, true)) {
      throw new CalciteSubqueryRuntimeException(text.problem());
    } else {
      String notice = text.problem() + ". Hive plans this query without it";
      LOG.warn(notice);
      SessionState.getConsole().printInfo(notice);
      throw new StateException(text.problem(), null);
    }
  }

  private static boolean isPlannedByCost() {
    StackTraceElement[] callers = new Throwable().getStackTrace();
    for (int i = 0; i < Math.min(FRAMES, callers.length); i++) {
      if (callers[i].getMethodName().equals(PLANNER_METHOD)) {
        return true;
      }
    }
    return false;
  }

  private static HiveConf conf() {
    try {
      return Hive.get().getConf();
    } catch (HiveException e) {
      throw new StateException("cannot tell which query reads earlier states of a table", e);
    }
  }

  /** Returns whether Hive reads subqueries in place of tables, to mask or filter their rows. */
  static boolean isMasked() {
    try {
      SessionState session = SessionState.get();
      return session.isAuthorizationModeV2() && session.getAuthorizerV2().needTransform();
    } catch (RuntimeException e) {
      return true;
    }
  }
}
