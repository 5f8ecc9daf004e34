package io.pyhudi.hive.predicate;

import io.pyhudi.hive.client.ZoneRules;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.Zone;
import io.pyhudi.hive.table.HiveZone;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.common.util.HiveVersionInfo;

/** What Hive decides of a filter's meaning beside its text. */
public final class HiveSemantics {
  /** A zone whose rules are not known. */
  private static final String OF_TASKS = "the zone of the tasks";

  /**
   * Settings that change what an expression returns, or what a reader shows, by the names of their
   * constants: versions of Hive lack some. Beside the defaults such an evaluation is not known.
   */
  private static final List<String> SETTINGS =
      Collections.unmodifiableList(
          Arrays.asList(
              "HIVE_COMPAT",
              "HIVE_DATETIME_FORMATTER",
              "HIVE_DATETIME_RESOLVER_STYLE",
              "HIVE_INT_TIMESTAMP_CONVERSION_IN_SECONDS",
              "HIVE_STRICT_TIMESTAMP_CONVERSION",
              "HIVE_USE_GOOGLE_REGEX_ENGINE",
              "HIVE_PARQUET_INFER_BINARY_AS",
              "HIVE_PARQUET_TIMESTAMP_SKIP_CONVERSION",
              "HIVE_VECTORIZATION_USE_CHECKED_EXPRESSIONS",
              "HIVE_VECTORIZED_ADAPTOR_SUPPRESS_EVALUATE_EXCEPTIONS",
              "HIVE_VECTORIZED_IF_EXPR_MODE",
              "HIVE_VECTOR_ADAPTOR_USAGE_MODE"));

  private static final List<HiveConf.ConfVars> OF_THIS_VERSION =
      Arrays.stream(HiveConf.ConfVars.values())
          .filter(setting -> SETTINGS.contains(setting.name()))
          .collect(Collectors.toList());

  private HiveSemantics() {}

  /**
   * Returns the semantics of a query's filters. Functions of dates and times are evaluated in the
   * session's zone, instants of files are read in the zone of the JVM.
   */
  public static Semantics of(Configuration conf) {
    ZoneId own = ZoneId.systemDefault();
    boolean isKnown = HiveZone.isOfTasks(conf);
    Zone reading = isKnown ? ZoneRules.of(own.getId(), own) : new Zone(OF_TASKS);
    Semantics semantics =
        new Semantics()
            .setEngine("hive")
            .setEngineVersion(HiveVersionInfo.getVersion())
            .setReadingZone(reading.getName());
    Map<String, String> settings = changed(conf);
    if (!settings.isEmpty()) {
      semantics.setSettings(settings);
    }
    if (HiveZone.isOfJvm(conf)) {
      return semantics.setZone(reading.getName()).setZones(Arrays.asList(reading));
    }
    ZoneId session = HiveZone.of(conf);
    Zone zone = ZoneRules.of(session.getId(), session);
    return semantics.setZone(zone.getName()).setZones(Arrays.asList(zone, reading));
  }

  /** Returns the settings that are not Hive's defaults. */
  private static Map<String, String> changed(Configuration conf) {
    Map<String, String> changed = new TreeMap<>();
    for (HiveConf.ConfVars setting : OF_THIS_VERSION) {
      String value = conf.get(setting.varname);
      if (value != null && !value.trim().equalsIgnoreCase(setting.getDefaultValue())) {
        changed.put(setting.varname, value);
      }
    }
    return changed;
  }
}
