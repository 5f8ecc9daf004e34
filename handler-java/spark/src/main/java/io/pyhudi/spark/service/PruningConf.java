package io.pyhudi.spark.service;

import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.ServiceAddress;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** The settings of a session. */
public final class PruningConf {
  static final String SERVICE = "spark.pyhudi.service";
  static final String TIMEOUT_MS = "spark.pyhudi.timeout.ms";
  private static final String PRUNING = "spark.pyhudi.pruning";
  private static final String TOKEN_FILE = "spark.pyhudi.token.file";
  private static final String AUTHORITIES = "spark.pyhudi.tls.authorities";
  private static final String KEYSTORE = "spark.pyhudi.tls.keystore";
  private static final String PASSWORD_FILE = "spark.pyhudi.tls.password.file";

  private final SQLConf conf;

  private PruningConf(SQLConf conf) {
    this.conf = conf;
  }

  public static PruningConf of(SparkSession session) {
    return new PruningConf(session.sessionState().conf());
  }

  public boolean enabled() {
    return !text(PRUNING, "true").equalsIgnoreCase("false");
  }

  /** Returns whether the session names services; else it has one of its own. */
  boolean namesServices() {
    return !text(SERVICE, "").isEmpty();
  }

  List<ServiceAddress> addresses() {
    return ServiceAddress.parseList(text(SERVICE, ""));
  }

  Credentials credentials() {
    return new Credentials(
        text(AUTHORITIES, ""), text(KEYSTORE, ""), text(PASSWORD_FILE, ""), text(TOKEN_FILE, ""));
  }

  long timeoutMillis() {
    String given = text(TIMEOUT_MS, "");
    try {
      return given.isEmpty() ? 2_000 : Math.max(1, Long.parseLong(given));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          TIMEOUT_MS + " is '" + given + "', expected a number of milliseconds", e);
    }
  }

  String text(String key, String otherwise) {
    return conf.getConfString(key, otherwise).trim();
  }
}
