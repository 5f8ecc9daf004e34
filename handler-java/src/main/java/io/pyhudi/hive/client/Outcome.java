package io.pyhudi.hive.client;

/** How a scan's pruning ended; but for the first two every file is read. */
public enum Outcome {
  PRUNED,
  /** Statistics answer the query: no file is read. */
  ANSWERED,
  /** Switched off by a setting. */
  DISABLED,
  /** The query has no filter on this scan. */
  NO_FILTER,
  /** Nothing in the filter could be said in the protocol. */
  NOT_EXPRESSIBLE,
  /** The service judged and proved nothing. */
  NOTHING_PROVED,
  /** No service could be reached. */
  UNREACHABLE,
  TIMED_OUT,
  /** What came back was no answer to the question: garbage, another table, another query. */
  WRONG_ANSWER,
  OTHER_VERSION,
  /** The request broke a limit of the service. */
  REFUSED,
  SERVICE_FAILED,
  /** This side failed; the log tells how. */
  FAILED
}
