package io.pyhudi.hive.predicate;

import io.pyhudi.hive.client.ZoneRules;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.Zone;
import io.pyhudi.hive.table.HiveZone;
import java.time.ZoneId;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hive.common.util.HiveVersionInfo;

/** What Hive decides of a filter's meaning beside its text. */
public final class HiveSemantics {
  /** A zone whose rules are not known. */
  private static final String OF_TASKS = "the zone of the tasks";

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
    if (HiveZone.isOfJvm(conf)) {
      return semantics.setZone(reading.getName()).setZones(Arrays.asList(reading));
    }
    ZoneId session = HiveZone.of(conf);
    Zone zone = ZoneRules.of(session.getId(), session);
    return semantics.setZone(zone.getName()).setZones(Arrays.asList(zone, reading));
  }
}
