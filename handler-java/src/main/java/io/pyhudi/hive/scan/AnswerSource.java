package io.pyhudi.hive.scan;

/** Where a scan has the answer from by which it is pruned. */
public enum AnswerSource {
  /** There is none. */
  NONE,
  /** A service was asked for this query. */
  BY_SERVICE,
  /** An earlier query asked the same about the same state of the table. */
  BY_CACHE
}
