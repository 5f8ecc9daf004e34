package io.pyhudi.spark.plans;

import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** The settings of statements and writes, which a session may change. */
public final class Settings {
  private static final String SPARK = "spark.";
  private static final String STATEMENTS = "pyhudi.statements";
  private static final String KEEP = "pyhudi.indexes.keep";
  private static final String FOLLOW = "pyhudi.indexes.follow";

  private Settings() {}

  /** Returns whether statements about indexes and layouts are ours. */
  public static boolean runsStatements(SparkSession session) {
    return is(session, STATEMENTS, "true");
  }

  /** Returns whether writes keep a table's indexes. */
  public static boolean keepsIndexes(SparkSession session) {
    return is(session, KEEP, "true");
  }

  /**
   * Returns whether the extension's indexes are refreshed after a write.
   *
   * @param options the write's own, which win
   */
  public static boolean isFollowed(SparkSession session, Map<String, String> options) {
    String said = options.get(FOLLOW);
    return said == null ? is(session, FOLLOW, "false") : Boolean.parseBoolean(said);
  }

  /** Reads a setting; spark-submit passes on only those that begin with {@code spark.}. */
  private static boolean is(SparkSession session, String name, String otherwise) {
    String text = session.conf().get(name, session.conf().get(SPARK + name, otherwise));
    return Boolean.parseBoolean(text);
  }
}
