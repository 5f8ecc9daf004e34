package io.pyhudi.truth;

import java.util.Map;
import java.util.TimeZone;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.ql.exec.MapredContext;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.mapred.JobConf;

/**
 * The thread's Hive session: functions find its settings where Hive's compiler and tasks put them.
 *
 * @param conf what SessionState gives, to the compiler and to functions that are not configured
 * @param job what MapredContext gives to functions when they are configured
 */
record Session(String zone, Map<String, String> settings, HiveConf conf, JobConf job) {
  /**
   * Ends the thread's session and starts another one.
   *
   * @param zone of the JVM, in which Parquet's instants become wall clocks, and of the session,
   *     unless the settings say otherwise
   */
  static Session start(String zone, Map<String, String> settings) throws HiveException {
    TimeZone.setDefault(TimeZone.getTimeZone(zone));
    HiveConf conf = new HiveConf(SessionState.class);
    conf.setVar(ConfVars.HIVE_LOCAL_TIME_ZONE, zone);
    conf.setVar(ConfVars.DOWNLOADED_RESOURCES_DIR, System.getProperty("java.io.tmpdir"));
    settings.forEach(conf::set);
    SessionState state = new SessionState(conf);
    SessionState.setCurrentSessionState(state);
    state.setupQueryCurrentTimestamp();
    // The compiler asks it for the settings; no metastore is needed.
    Hive.closeCurrent();
    Hive.getWithoutRegisterFns(conf);
    JobConf job = new JobConf(conf);
    MapredContext.close();
    MapredContext.init(true, job);
    return new Session(zone, settings, conf, job);
  }

  boolean isOf(String otherZone, Map<String, String> otherSettings) {
    return zone.equals(otherZone) && settings.equals(otherSettings);
  }
}
