package io.pyhudi.spark;

import io.pyhudi.spark.statements.StatementParser;
import io.pyhudi.spark.writes.KeepIndexes;
import org.apache.spark.sql.SparkSessionExtensions;

/** The part of the extension that runs our statements, and lets writers keep a table's indexes. */
final class Statements {
  private Statements() {}

  static void extend(SparkSessionExtensions extensions) {
    extensions.injectParser(StatementParser::new);
    extensions.injectPostHocResolutionRule(KeepIndexes::new);
  }
}
