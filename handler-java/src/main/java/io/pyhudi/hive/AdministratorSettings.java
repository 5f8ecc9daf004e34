package io.pyhudi.hive;

import io.pyhudi.hive.protocol.pruningConstants;
import java.net.URL;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;

/**
 * Settings from HiveServer2's own files (hive-site.xml, hiveserver2-site.xml): which settings
 * sessions and tables may change, and the values of all others.
 *
 * <p>Without these restrictions the owner of a table could redirect every query on it to a service
 * of his own choice.
 */
final class AdministratorSettings {
  static final String SESSION_SETTINGS = "hudi.pruning.session.settings";
  static final String TABLE_SETTINGS = "hudi.pruning.table.settings";

  /** Settings that affect only the query that sets them. */
  static final String HARMLESS =
      String.join(
          ",",
          PruningSettings.ENABLED,
          PruningSettings.JOINS,
          PruningSettings.PLANNED_JOINS,
          PruningSettings.LIMIT,
          PruningSettings.ROWS,
          PruningSettings.MERGED_ROWS_BYTES,
          PruningSettings.LISTING,
          PruningSettings.TIMEOUT_MS,
          PruningSettings.METADATA_TIMEOUT_MS,
          PruningSettings.CACHE_MS,
          PruningSettings.LOG_LEVEL,
          PruningSettings.VIEW,
          PruningSettings.AS_OF,
          PruningSettings.TIMELINE_ZONE);

  /** Settings that start a program as HiveServer2's user, which nobody else may name. */
  private static final List<String> ITS_OWN =
      Arrays.asList(PruningSettings.COMPANION, PruningSettings.PYTHON);

  private static final String EVERYTHING = "*";

  /** The settings of this JVM; read once, like Hive's own. */
  private static final class Holder {
    private static final AdministratorSettings OURS =
        of(HiveConf.getHiveSiteLocation(), HiveConf.getHiveServer2SiteLocation());
  }

  private final Configuration files;
  private final boolean found;
  private final Set<String> ofSessions;
  private final Set<String> ofTables;

  private AdministratorSettings(Configuration files, boolean found) {
    this.files = files;
    this.found = found;
    this.ofSessions = names(files, SESSION_SETTINGS);
    this.ofTables = names(files, TABLE_SETTINGS);
  }

  /**
   * @param locations of configuration files; later files override earlier ones; null entries are
   *     skipped
   */
  static AdministratorSettings of(URL... locations) {
    Configuration files = new Configuration(false);
    boolean found = false;
    for (URL location : locations) {
      if (location != null) {
        files.addResource(location);
        found = true;
      }
    }
    return new AdministratorSettings(files, found);
  }

  static AdministratorSettings load() {
    return Holder.OURS;
  }

  /** Returns the administrator's value, or null. */
  String get(String name) {
    return files.get(name);
  }

  /** Returns whether this JVM is a HiveServer2, and not a container of a cluster. */
  boolean areHere() {
    return found;
  }

  boolean sessionsMaySet(String name) {
    return allows(ofSessions, name);
  }

  boolean tablesMaySet(String name) {
    return allows(ofTables, name);
  }

  /**
   * Returns whether a job may set the value. Containers of a cluster have no configuration files of
   * the administrator; there the job carries the values that HiveServer2 chose.
   */
  boolean jobsMaySet(String name) {
    return !found || sessionsMaySet(name) || tablesMaySet(name);
  }

  private static boolean allows(Set<String> names, String name) {
    // What is said of buckets is proved by the table's files.
    return pruningConstants.BUCKET_OPTIONS.contains(name)
        || (!ITS_OWN.contains(name) && (names.contains(EVERYTHING) || names.contains(name)));
  }

  private static Set<String> names(Configuration files, String list) {
    String[] names = files.get(list, HARMLESS).trim().split("\\s*,\\s*");
    return Collections.unmodifiableSet(new HashSet<>(Arrays.asList(names)));
  }
}
