package io.pyhudi.hive;

import static org.apache.hadoop.hive.metastore.api.hive_metastoreConstants.META_TABLE_NAME;

import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.ServiceAddress;
import io.pyhudi.hive.client.ServiceOrder;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * The handler's settings: set by SET in a session or as a table property (SET wins) as far as the
 * administrator allows it, else in HiveServer2's configuration files.
 *
 * <p>A value that cannot be parsed is replaced by its default: a typing error must not make a query
 * fail.
 */
public final class PruningSettings {
  public static final String ENABLED = "hudi.pruning.enabled";
  public static final String JOINS = "hudi.pruning.joins";
  public static final String PLANNED_JOINS = "hudi.pruning.joins.planned";
  public static final String LIMIT = "hudi.pruning.limit";
  public static final String ROWS = "hudi.pruning.rows";
  public static final String MERGED_ROWS_BYTES = "hudi.pruning.rows.merged.bytes";
  public static final String LISTING = "hudi.pruning.listing";
  public static final String ADDRESSES = "hudi.pruning.service.addresses";
  public static final String COMPANION = "hudi.pruning.companion";
  public static final String PYTHON = "hudi.pruning.python";
  public static final String ORDER = "hudi.pruning.service.order";
  public static final String TIMEOUT_MS = "hudi.pruning.timeout.ms";
  public static final String METADATA_TIMEOUT_MS = "hudi.pruning.metadata.timeout.ms";
  public static final String MAX_RESPONSE_BYTES = "hudi.pruning.max.response.bytes";
  public static final String BREAKER_MS = "hudi.pruning.breaker.ms";
  public static final String CACHE_MS = "hudi.pruning.cache.ms";
  public static final String LOG_LEVEL = "hudi.pruning.log.level";
  public static final String REPORT_DIR = "hudi.pruning.report.dir";
  public static final String TLS_CA = "hudi.pruning.tls.ca";
  public static final String TLS_KEYSTORE = "hudi.pruning.tls.keystore";
  public static final String TLS_PASSWORD_FILE = "hudi.pruning.tls.password.file";
  public static final String TOKEN_FILE = "hudi.pruning.token.file";
  public static final String JOB_TOKEN_MS = "hudi.pruning.job.token.ms";
  public static final String VIEW = "hudi.view";
  public static final String AS_OF = "hudi.as.of";
  public static final String TIMELINE_ZONE = "hudi.timeline.zone";

  private static final Map<String, String> DEFAULTS;

  static {
    Map<String, String> defaults = new LinkedHashMap<>();
    defaults.put(ENABLED, "true");
    defaults.put(JOINS, "true");
    defaults.put(PLANNED_JOINS, "true");
    defaults.put(LIMIT, "true");
    defaults.put(ROWS, "true");
    defaults.put(MERGED_ROWS_BYTES, "1048576");
    defaults.put(LISTING, "true");
    defaults.put(ADDRESSES, "");
    defaults.put(COMPANION, "true");
    defaults.put(PYTHON, "");
    defaults.put(ORDER, "table");
    defaults.put(TIMEOUT_MS, "2000");
    defaults.put(METADATA_TIMEOUT_MS, "60000");
    defaults.put(MAX_RESPONSE_BYTES, "67108864");
    defaults.put(BREAKER_MS, "5000");
    defaults.put(CACHE_MS, "60000");
    defaults.put(LOG_LEVEL, "info");
    defaults.put(REPORT_DIR, "");
    defaults.put(TLS_CA, "");
    defaults.put(TLS_KEYSTORE, "");
    defaults.put(TLS_PASSWORD_FILE, "");
    defaults.put(TOKEN_FILE, "");
    defaults.put(JOB_TOKEN_MS, "3600000");
    defaults.put(VIEW, "snapshot");
    defaults.put(AS_OF, "");
    defaults.put(TIMELINE_ZONE, "");
    DEFAULTS = Collections.unmodifiableMap(defaults);
  }

  /** Levels of the line that is logged for each scan. */
  public enum LogLevel {
    OFF,
    DEBUG,
    INFO
  }

  private final Map<String, String> values;
  private final ConsumeSettings consume;
  private final JobSecrets secrets;

  private PruningSettings(Map<String, String> values, ConsumeSettings consume, JobSecrets secrets) {
    this.values = values;
    this.consume = consume;
    this.secrets = secrets;
  }

  /**
   * Returns the settings of one table, resolved when a query is compiled.
   *
   * @param table the table's properties
   */
  public static PruningSettings ofTable(Properties table) {
    return ofTable(table, AdministratorSettings.load());
  }

  static PruningSettings ofTable(Properties table, AdministratorSettings administrator) {
    return read(
        key -> administrator.tablesMaySet(key) ? table.getProperty(key) : null,
        consume(table.getProperty(META_TABLE_NAME), table::getProperty),
        administrator,
        JobSecrets.none());
  }

  /** Returns the settings of a scan, from the job into which Hive copied the table's properties. */
  public static PruningSettings ofJob(Configuration job) {
    return ofJob(job, AdministratorSettings.load());
  }

  static PruningSettings ofJob(Configuration job, AdministratorSettings administrator) {
    return read(
        key -> administrator.jobsMaySet(key) ? job.get(key) : null,
        consume(job.get(META_TABLE_NAME), job::get),
        administrator,
        JobSecrets.of(job));
  }

  private static ConsumeSettings consume(String table, UnaryOperator<String> properties) {
    SessionState session = SessionState.get();
    return ConsumeSettings.of(
        table,
        key -> {
          String value = session == null ? null : session.getConf().get(key);
          return value == null ? properties.apply(key) : value;
        });
  }

  private static PruningSettings read(
      UnaryOperator<String> source,
      ConsumeSettings consume,
      AdministratorSettings administrator,
      JobSecrets secrets) {
    Map<String, String> values = new LinkedHashMap<>();
    for (Map.Entry<String, String> entry : DEFAULTS.entrySet()) {
      String value = given(entry.getKey(), source, administrator);
      values.put(entry.getKey(), value == null ? entry.getValue() : value.trim());
    }
    for (String key : pruningConstants.BUCKET_OPTIONS) {
      String value = given(key, source, administrator);
      if (value != null) {
        values.put(key, value.trim());
      }
    }
    return new PruningSettings(values, consume, secrets);
  }

  private static String given(
      String key, UnaryOperator<String> source, AdministratorSettings administrator) {
    SessionState session = SessionState.get();
    String value = null;
    if (session != null && administrator.sessionsMaySet(key)) {
      value = session.getConf().get(key);
    }
    if (value == null) {
      value = source.apply(key);
    }
    return value == null ? administrator.get(key) : value;
  }

  /**
   * Returns the settings that a scan by an input format has. What is asked while a query is planned
   * is then about the view that its scan asks about, and the service opens the table once.
   *
   * @param inputFormat the name of its class; null if it is not known
   */
  public PruningSettings asReadBy(String inputFormat) {
    return HudiCopyOnWriteInputFormat.class.getName().equals(inputFormat) ? readOptimized() : this;
  }

  /** Returns the same settings for base files only. */
  public PruningSettings readOptimized() {
    return with(VIEW, "read_optimized", consume);
  }

  /**
   * Returns the same settings for a state of the table that the query itself names.
   *
   * @param asOf as in {@link #asOf()}; empty: these settings
   */
  public PruningSettings asOf(String asOf) {
    return asOf.isEmpty() ? this : with(AS_OF, asOf, ConsumeSettings.none());
  }

  /** Returns the same settings for the rows that other settings ask for. */
  public PruningSettings inStateOf(PruningSettings other) {
    return with(AS_OF, other.values.get(AS_OF), other.consume)
        .with(TIMELINE_ZONE, other.values.get(TIMELINE_ZONE), other.consume);
  }

  private PruningSettings with(String key, String value, ConsumeSettings read) {
    Map<String, String> copy = new LinkedHashMap<>(values);
    copy.put(key, value);
    return new PruningSettings(copy, read, secrets);
  }

  /** Returns every setting with its value, for a job's properties. */
  public Map<String, String> asMap() {
    return Collections.unmodifiableMap(values);
  }

  /** Returns what is said of the table's buckets, by the names of Hudi's options; null: nothing. */
  public Map<String, String> statedBuckets() {
    Map<String, String> stated = new LinkedHashMap<>(values);
    stated.keySet().retainAll(pruningConstants.BUCKET_OPTIONS);
    return stated.isEmpty() ? null : stated;
  }

  public boolean enabled() {
    return !"false".equalsIgnoreCase(values.get(ENABLED));
  }

  /** Returns whether splits wait for the keys of a join's other side and are pruned by them. */
  public boolean joins() {
    return enabled() && !"false".equalsIgnoreCase(values.get(JOINS));
  }

  /** Returns whether keys of small tables are read while a query is planned. */
  public boolean plannedJoins() {
    return joins() && !"false".equalsIgnoreCase(values.get(PLANNED_JOINS));
  }

  /** Returns whether files are skipped that a LIMIT does not need. */
  public boolean limit() {
    return enabled() && !"false".equalsIgnoreCase(values.get(LIMIT));
  }

  /** Returns whether rows of files that are read are skipped, too. */
  public boolean rows() {
    return enabled() && !"false".equalsIgnoreCase(values.get(ROWS));
  }

  /** Returns the size from which a base file with log files is not merged as a whole, in bytes. */
  public long mergedRowsBytes() {
    return number(MERGED_ROWS_BYTES);
  }

  /** Returns whether the service may list the files to read, instead of Hudi. */
  public boolean listing() {
    return !"false".equalsIgnoreCase(values.get(LISTING));
  }

  /** Returns the services as they are listed; empty if no address could be parsed. */
  public List<ServiceAddress> addresses() {
    return ServiceAddress.parseList(values.get(ADDRESSES));
  }

  /** Returns whether no service is named, so that HiveServer2 has one of its own. */
  boolean hasOwnService() {
    return values.get(ADDRESSES).isEmpty() && !"false".equalsIgnoreCase(values.get(COMPANION));
  }

  /** Returns the order in which the services are called. */
  ServiceOrder order() {
    boolean asListed = "listed".equalsIgnoreCase(values.get(ORDER));
    return asListed ? ServiceOrder.LISTED : ServiceOrder.TABLE;
  }

  /**
   * Returns the time limit of pruning for one scan, over all addresses and including connecting.
   */
  public long timeoutMillis() {
    return number(TIMEOUT_MS);
  }

  /** Returns the time limit of reading a metadata view, over all addresses. */
  public long metadataTimeoutMillis() {
    return number(METADATA_TIMEOUT_MS);
  }

  /** Returns the size limit of a response, in bytes. */
  public int maxResponseBytes() {
    return (int) Math.min(number(MAX_RESPONSE_BYTES), Integer.MAX_VALUE - 8);
  }

  /** Returns how long requests to a failing address are suspended. */
  public long breakerMillis() {
    return number(BREAKER_MS);
  }

  /**
   * Returns the credentials for questions about a table, and the authorities that the services'
   * certificates need.
   */
  public Credentials credentials(String basePath) {
    return credentials().with(secrets.ofTable(basePath));
  }

  /** Returns the same from files only. */
  public Credentials credentials() {
    return new Credentials(
        values.get(TLS_CA),
        values.get(TLS_KEYSTORE),
        values.get(TLS_PASSWORD_FILE),
        values.get(TOKEN_FILE));
  }

  /** Returns for how long a job may ask after it was submitted. */
  public long jobTokenMillis() {
    return number(JOB_TOKEN_MS);
  }

  /** Returns for how long an answer may be used again, for the same question; 0 for never. */
  public long cacheMillis() {
    return number(CACHE_MS);
  }

  public LogLevel logLevel() {
    try {
      return LogLevel.valueOf(values.get(LOG_LEVEL).toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      return LogLevel.INFO;
    }
  }

  /** Returns a local directory that receives one JSON line per scan, or an empty text. */
  public String reportDir() {
    return values.get(REPORT_DIR);
  }

  /**
   * Returns the view, which decides whether log files are read; any value but read_optimized reads
   * them.
   */
  public TableView view() {
    return "read_optimized".equalsIgnoreCase(values.get(VIEW))
        ? TableView.READ_OPTIMIZED
        : TableView.SNAPSHOT;
  }

  /**
   * Returns the state of the table that is read: an instant of its timeline, or a time. Empty for
   * the newest.
   */
  public String asOf() {
    return values.get(AS_OF);
  }

  /** Returns which commits are read, if not all. */
  public ConsumeSettings consume() {
    return consume;
  }

  /** Returns a text that differs for settings that ask for different rows. */
  public String stateKey() {
    return asOf() + consume;
  }

  /**
   * Returns the time zone of the clock that the table's instants show, if the table itself does not
   * name it; empty for that of this JVM.
   */
  public String timelineZone() {
    return values.get(TIMELINE_ZONE);
  }

  private long number(String key) {
    try {
      return Math.max(0, Long.parseLong(values.get(key)));
    } catch (NumberFormatException e) {
      return Long.parseLong(DEFAULTS.get(key));
    }
  }
}
