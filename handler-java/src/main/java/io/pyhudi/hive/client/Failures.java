package io.pyhudi.hive.client;

import java.net.SocketTimeoutException;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.transport.TTransportException;

/** What the failure of an exchange says to whoever reads the log. */
final class Failures {
  private Failures() {}

  static PruningException explain(ServiceAddress address, Throwable cause) {
    if (cause instanceof TApplicationException
        && ((TApplicationException) cause).getType()
            == TApplicationException.UNSUPPORTED_CLIENT_TYPE) {
      return new PruningException(
          Outcome.UNREACHABLE,
          address + " refuses HiveServer2 (hudi.pruning.token.file): " + cause.getMessage(),
          cause);
    }
    if (cause instanceof TTransportException
        && ((TTransportException) cause).getType() == TTransportException.END_OF_FILE) {
      return new PruningException(
          Outcome.UNREACHABLE,
          address
              + " closed the connection before it answered. Its log says why; perhaps it needs TLS"
              + " (hudi.pruning.tls.ca) or a certificate (hudi.pruning.tls.keystore)",
          cause);
    }
    if (cause instanceof TApplicationException
        && ((TApplicationException) cause).getType() == TApplicationException.UNKNOWN_METHOD) {
      return new PruningException(
          Outcome.OTHER_VERSION, address + " is older than this handler; upgrade it", cause);
    }
    boolean unreachable =
        cause instanceof TTransportException
            && ((TTransportException) cause).getType() != TTransportException.CORRUPTED_DATA;
    return new PruningException(
        unreachable ? Outcome.UNREACHABLE : Outcome.WRONG_ANSWER,
        address + ": " + (cause.getMessage() == null ? cause.toString() : cause.getMessage()),
        cause);
  }

  static boolean isTimeout(Throwable cause) {
    return cause instanceof TTransportException
        && (((TTransportException) cause).getType() == TTransportException.TIMED_OUT
            || cause.getCause() instanceof SocketTimeoutException);
  }
}
