package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.pruningConstants;
import org.apache.thrift.TException;

/** One exchange with a service, for a request of this id and base path. */
abstract class Call<T> {
  /** What every response says of itself. */
  static final class Envelope {
    private final PruneStatus status;
    private final int version;
    private final String id;
    private final String basePath;
    private final String message;

    Envelope(PruneStatus status, int version, String id, String basePath, String message) {
      this.status = status;
      this.version = version;
      this.id = id;
      this.basePath = basePath;
      this.message = message;
    }
  }

  private final String id;
  private final String basePath;

  Call(String id, String basePath) {
    this.id = id;
    this.basePath = basePath;
  }

  /**
   * @param patienceMillis how long the query waits
   * @param timeoutMillis how long the connection waits, for the next equal question
   */
  abstract T send(ServiceConnection connection, int patienceMillis, int timeoutMillis)
      throws TException;

  abstract Envelope envelope(T response);

  /** Takes a response that came when the query had ceased to wait for it. */
  void late(T response) {
    // Most have no use for it.
  }

  /** Checks that the response belongs to the request and has status OK. */
  final void check(T response, ServiceAddress address) throws PruningException {
    Envelope found = envelope(response);
    checkVersion(found.status, found.version, address);
    checkIds(id, basePath, found.id, found.basePath, address);
    if (found.status != PruneStatus.OK) {
      throw new PruningException(
          outcome(response, found.status),
          address + " answered " + found.status + ": " + found.message);
    }
  }

  /** Returns what came of a response without an answer. */
  Outcome outcome(T response, PruneStatus status) {
    if (status == PruneStatus.NOT_PRUNED) {
      return Outcome.NOTHING_PROVED;
    }
    return status == PruneStatus.BAD_REQUEST ? Outcome.REFUSED : Outcome.SERVICE_FAILED;
  }

  private static void checkVersion(PruneStatus status, int version, ServiceAddress address)
      throws PruningException {
    if (status == PruneStatus.UNSUPPORTED_VERSION || version != pruningConstants.PROTOCOL_VERSION) {
      throw new PruningException(
          Outcome.OTHER_VERSION,
          address
              + " uses protocol version "
              + version
              + ", this handler uses "
              + pruningConstants.PROTOCOL_VERSION);
    }
  }

  private static void checkIds(
      String id, String basePath, String answeredId, String answeredPath, ServiceAddress address)
      throws PruningException {
    if (!id.equals(answeredId) || !basePath.equals(answeredPath)) {
      throw new PruningException(
          Outcome.WRONG_ANSWER,
          address
              + " answered "
              + answeredId
              + " for "
              + answeredPath
              + ", expected "
              + id
              + " for "
              + basePath);
    }
  }
}
