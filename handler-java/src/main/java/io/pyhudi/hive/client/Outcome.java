package io.pyhudi.hive.client;

/** The outcome of a scan's pruning; every file is read for all but the first two. */
public enum Outcome {
  PRUNED,
  /** Statistics answer the query: no file is read. */
  ANSWERED,
  /** Switched off by a setting. */
  DISABLED,
  /** The query has no filter on this scan. */
  NO_FILTER,
  /** The protocol cannot express any part of the filter. */
  NOT_EXPRESSIBLE,
  /** The service proved nothing, or could not read the table; its message says why. */
  NOTHING_PROVED,
  /** No service could be reached, or it refuses this caller. */
  UNREACHABLE,
  TIMED_OUT,
  /** The response does not match the request: invalid data, another table or another query. */
  WRONG_ANSWER,
  OTHER_VERSION,
  /** The request broke a limit of the service. */
  REFUSED,
  /** Keys are virtual, and their column is missing, or null in a row. */
  LACKS_KEYS,
  SERVICE_FAILED,
  /** The handler failed; the log has the details. */
  FAILED
}
