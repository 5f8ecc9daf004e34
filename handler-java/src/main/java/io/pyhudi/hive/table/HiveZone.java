package io.pyhudi.hive.table;

import io.pyhudi.hive.client.ZoneRules;
import java.lang.management.ManagementFactory;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;

/** The time zones of a session, and of the JVMs that read its rows. */
public final class HiveZone {
  private static final String SETTING = "hive.local.time.zone";

  /** Options and environments of the JVMs of tasks, in which a site may set their zone. */
  private static final List<String> OF_TASKS =
      Collections.unmodifiableList(
          Arrays.asList(
              "tez.task.launch.cmd-opts",
              "tez.task.launch.cluster-default.cmd-opts",
              "hive.tez.java.opts",
              "tez.task.launch.env",
              "mapreduce.map.java.opts",
              "mapred.map.child.java.opts",
              "mapred.child.java.opts",
              "mapreduce.admin.map.child.java.opts",
              "mapreduce.map.env",
              "mapred.child.env"));

  private static final Pattern ZONE = Pattern.compile("(?:-Duser\\.timezone|\\bTZ)=([^\\s,;\"']+)");

  private HiveZone() {}

  /** Returns the zone in which Hive reads times that do not name one. */
  public static ZoneId of(Configuration conf) {
    String zone = conf.get(SETTING, "").trim();
    return isOfJvm(conf) ? ZoneId.systemDefault() : ZoneId.of(zone);
  }

  /** Returns whether the session's zone is the zone of each JVM that evaluates. */
  public static boolean isOfJvm(Configuration conf) {
    String zone = conf.get(SETTING, "").trim();
    return zone.isEmpty() || zone.equalsIgnoreCase("LOCAL");
  }

  /**
   * Returns whether this JVM's zone is that of the tasks' JVMs, as far as their options say it.
   * Parquet's instants become wall clocks in the zone of the JVM that reads them, which for a fetch
   * task is this one.
   */
  public static boolean isOfTasks(Configuration conf) {
    if (isLocal(conf)) {
      return true;
    }
    TreeSet<String> named = new TreeSet<>();
    for (String option : OF_TASKS) {
      Matcher found = ZONE.matcher(conf.get(option, ""));
      while (found.find()) {
        named.add(found.group(1));
      }
    }
    ZoneId own = ZoneId.systemDefault();
    // Without an option tasks have the zone of their hosts, as this JVM has without one.
    return named.isEmpty() ? !IS_CHOSEN : named.stream().allMatch(zone -> isSame(zone, own));
  }

  private static boolean isSame(String zone, ZoneId own) {
    try {
      return ZoneRules.areSame(ZoneId.of(zone, ZoneId.SHORT_IDS), own);
    } catch (java.time.DateTimeException e) {
      return false;
    }
  }

  private static boolean isLocal(Configuration conf) {
    return "tez".equals(conf.get("hive.execution.engine", "mr"))
        ? conf.getBoolean("tez.local.mode", false)
        : "local".equals(conf.get("mapreduce.framework.name", "local"));
  }

  /** Whether an option or the environment of this JVM names its zone. */
  private static final boolean IS_CHOSEN =
      System.getenv("TZ") != null
          || ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
              .anyMatch(argument -> argument.startsWith("-Duser.timezone="));
}
