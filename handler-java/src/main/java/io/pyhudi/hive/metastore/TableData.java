package io.pyhudi.hive.metastore;

import java.util.Map;
import org.apache.hadoop.hive.metastore.api.Table;

/**
 * What the metastore does with the files of a table, by its properties alone: the table's type is
 * derived from them whenever the metastore stores it.
 */
public final class TableData {
  private static final String EXTERNAL = "EXTERNAL";
  private static final String PURGE = "external.table.purge";
  private static final String TRANSLATED = "TRANSLATED_TO_EXTERNAL";

  private TableData() {}

  /** Returns the property by which DROP TABLE deletes the table's files; null if it keeps them. */
  public static String deletedBy(Table table) {
    if (!isExternal(table)) {
      return "'" + EXTERNAL + "' is not 'TRUE'";
    }
    return isTrue(table, PURGE) ? "'" + PURGE + "' is 'TRUE'" : null;
  }

  /** Returns whether RENAME moves the table's files. */
  static boolean movesWithName(Table table) {
    return !isExternal(table) || isTrue(table, TRANSLATED);
  }

  private static boolean isExternal(Table table) {
    return isTrue(table, EXTERNAL);
  }

  private static boolean isTrue(Table table, String property) {
    Map<String, String> properties = table.getParameters();
    return properties != null && "TRUE".equalsIgnoreCase(properties.get(property));
  }
}
