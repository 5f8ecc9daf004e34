package io.pyhudi.spark;

import org.apache.spark.sql.SparkSessionExtensions;

/** The part of the extension that parses and runs our statements. */
final class Statements {
  private Statements() {}

  static void extend(SparkSessionExtensions extensions) {}
}
