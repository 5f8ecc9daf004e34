package io.pyhudi.hive;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Which commits of a table are read, by Hudi's own settings for Hive: {@code
 * hoodie.TABLE.consume.mode} and others, where TABLE is the table's name in Hive, with or without
 * its database.
 */
public final class ConsumeSettings {
  private static final String MODE = "mode";
  private static final String START = "start.timestamp";
  private static final String END = "end.timestamp";
  private static final String MAX_COMMITS = "max.commits";
  private static final List<String> KEYS = Arrays.asList(MODE, START, END, MAX_COMMITS);
  private static final String INCREMENTAL = "INCREMENTAL";
  private static final ConsumeSettings NONE = new ConsumeSettings(Collections.emptyMap());

  private final Map<String, String> values;

  private ConsumeSettings(Map<String, String> values) {
    this.values = values;
  }

  static ConsumeSettings none() {
    return NONE;
  }

  /**
   * @param table the table's name in Hive as "database.table"; null if it is not known
   * @param lookup returns the value of a setting, or null
   */
  static ConsumeSettings of(String table, UnaryOperator<String> lookup) {
    if (table == null) {
      return NONE;
    }
    Map<String, String> values = new LinkedHashMap<>();
    for (String key : KEYS) {
      String value = lookup.apply("hoodie." + table + ".consume." + key);
      if (value == null) {
        String name = table.substring(table.indexOf('.') + 1);
        value = lookup.apply("hoodie." + name + ".consume." + key);
      }
      if (value != null && !value.trim().isEmpty()) {
        values.put(key, value.trim());
      }
    }
    return values.isEmpty() ? NONE : new ConsumeSettings(values);
  }

  /** Returns whether only the rows that some commits wrote are read. */
  public boolean isIncremental() {
    return INCREMENTAL.equals(values.getOrDefault(MODE, "").toUpperCase(Locale.ROOT));
  }

  /** Returns after which time commits are read; null if it is not set. */
  public String start() {
    return values.get(START);
  }

  /** Returns until which time commits are read; null for all later ones. */
  public String end() {
    return values.get(END);
  }

  /** Returns how many commits are read at most; null for all. */
  public String maxCommits() {
    return values.get(MAX_COMMITS);
  }

  /** Returns the settings as a text that is equal for equal settings. */
  @Override
  public String toString() {
    return values.toString();
  }
}
