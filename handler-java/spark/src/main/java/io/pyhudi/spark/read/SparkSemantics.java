package io.pyhudi.spark.read;

import io.pyhudi.hive.client.ZoneRules;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.Zone;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/** What a Spark session decides of a condition's meaning beside its text. */
final class SparkSemantics {
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
    return new Semantics()
        .setEngine("spark")
        .setEngineVersion(session.version())
        .setZone(own)
        .setZones(zones);
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
