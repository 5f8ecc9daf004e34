package io.pyhudi.spark;

import org.apache.spark.sql.SparkSessionExtensions;

/** The part of the extension that prunes the files of reads. */
final class Reads {
  private Reads() {}

  static void extend(SparkSessionExtensions extensions) {}
}
