package io.pyhudi.hive.table;

import java.time.ZoneId;
import org.apache.hadoop.conf.Configuration;

/** The time zone of a session, in which Hive reads times that do not name one. */
public final class HiveZone {
  private static final String SETTING = "hive.local.time.zone";

  private HiveZone() {}

  public static ZoneId of(Configuration conf) {
    String zone = conf.get(SETTING, "").trim();
    return zone.isEmpty() || zone.equalsIgnoreCase("LOCAL")
        ? ZoneId.systemDefault()
        : ZoneId.of(zone);
  }
}
