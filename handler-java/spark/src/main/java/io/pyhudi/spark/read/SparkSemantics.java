package io.pyhudi.spark.read;

import io.pyhudi.hive.client.ZoneRules;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.Zone;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;

/** What a Spark session decides of a condition's meaning beside its text. */
final class SparkSemantics {
  /**
   * Settings that change what an expression returns, or what a reader shows, and that the condition
   * does not show itself. They are off by default; else such an evaluation is not known.
   */
  private static final List<String> SETTINGS =
      Collections.unmodifiableList(
          Arrays.asList(
              "spark.sql.parquet.fieldId.read.enabled",
              "spark.sql.parquet.fieldId.read.ignoreMissing",
              "spark.sql.parquet.int96TimestampConversion"));

  private SparkSemantics() {}

  /**
   * Returns the semantics of conditions. An expression keeps the zone of the session that analysed
   * it, so a view or a DataFrame brings zones of other sessions.
   */
  static Semantics of(SparkSession session, List<Expression> conjuncts) {
    String own = session.sessionState().conf().sessionLocalTimeZone();
    Set<String> names = new TreeSet<>();
    names.add(own);
    conjuncts.forEach(conjunct -> addZones(conjunct, names));
    List<Zone> zones = new ArrayList<>();
    names.forEach(name -> zones.add(ZoneRules.of(name, DateTimeUtils.getZoneId(name))));
    Semantics semantics =
        new Semantics()
            .setEngine("spark")
            .setEngineVersion(session.version())
            .setZone(own)
            .setZones(zones);
    Map<String, String> settings = changed(session.sessionState().conf());
    return settings.isEmpty() ? semantics : semantics.setSettings(settings);
  }

  /** Returns the settings that are not Spark's defaults: those that are on. */
  private static Map<String, String> changed(SQLConf conf) {
    Map<String, String> changed = new TreeMap<>();
    for (String key : SETTINGS) {
      if ("true".equalsIgnoreCase(conf.settings().get(key))) {
        changed.put(key, "true");
      }
    }
    return changed;
  }

  private static void addZones(Expression node, Set<String> names) {
    if (node instanceof TimeZoneAwareExpression
        && ((TimeZoneAwareExpression) node).timeZoneId().isDefined()) {
      names.add(((TimeZoneAwareExpression) node).timeZoneId().get());
    }
    for (Expression child : Scala.list(node.children())) {
      addZones(child, names);
    }
  }
}
