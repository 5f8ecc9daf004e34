package io.pyhudi.hive;

/** What JMX, and the class loaders of sessions, see of HiveServer2's own pruning service. */
public interface OwnServiceMBean {
  /**
   * Returns where it listens and the file of its token; or an empty text, and why it does not.
   *
   * @param patienceMillis how long to wait for a service that starts
   */
  String[] endpoint(long patienceMillis);
}
