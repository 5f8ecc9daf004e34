package io.pyhudi.spark.plans;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The tables whose files statements of this application have rewritten. What was made of a table
 * before (a relation that a session keeps, a DataFrame) knows only the files of then, which Hudi's
 * writers will not find and its cleaner removes.
 */
public final class ChangedTables {
  private static final Map<String, String> INSTANTS = new ConcurrentHashMap<>();

  private ChangedTables() {}

  /**
   * Notes a change.
   *
   * @param table the base path, as Hudi writes it
   * @param instant the requested time of the change
   */
  public static void add(String table, String instant) {
    INSTANTS.merge(table, instant, (one, other) -> one.compareTo(other) < 0 ? other : one);
  }

  /** Returns the requested time of the last change, or null. */
  public static String lastChange(String table) {
    return INSTANTS.get(table);
  }
}
