package io.pyhudi.hive;

/** Prepares nothing: clusters with Hive 3.1 are not supported. */
final class AdoptedTables {
  private AdoptedTables() {}

  static void add() {
    // Nothing is needed where HiveServer2 runs all tasks.
  }
}
