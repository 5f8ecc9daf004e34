package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.MetadataRequest;
import io.pyhudi.hive.protocol.MetadataResponse;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.pruningConstants;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TException;
import org.apache.thrift.transport.TTransportException;

/**
 * Calls the pruning services of a list in turn, until one responds or the time limit expires.
 *
 * <p>The time limit holds for everything together: name look-up, connecting, sending, the service's
 * work and reading its answer. Each call therefore runs in a thread of its own, whose socket is
 * closed when the time is up.
 */
public final class PruningClient {
  private static final PruningClient SHARED = new PruningClient();

  private final ConnectionPool pool = new ConnectionPool();
  private final CircuitBreaker breaker = new CircuitBreaker(System::nanoTime);
  private final ExecutorService threads;

  public PruningClient() {
    AtomicInteger number = new AtomicInteger();
    threads =
        Executors.newCachedThreadPool(
            task -> {
              Thread thread = new Thread(task, "hudi-pruning-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
  }

  /** The one client of this JVM. */
  public static PruningClient shared() {
    return SHARED;
  }

  /** The limits of a call. */
  public static final class Limits {
    final long timeoutMillis;
    final int maxResponseBytes;
    final long breakerMillis;

    /**
     * @param breakerMillis how long an address that keeps failing is skipped
     */
    public Limits(long timeoutMillis, int maxResponseBytes, long breakerMillis) {
      this.timeoutMillis = timeoutMillis;
      this.maxResponseBytes = maxResponseBytes;
      this.breakerMillis = breakerMillis;
    }
  }

  /** What every response says of itself. */
  private static final class Envelope {
    final PruneStatus status;
    final int version;
    final String id;
    final String basePath;
    final String message;

    Envelope(PruneStatus status, int version, String id, String basePath, String message) {
      this.status = status;
      this.version = version;
      this.id = id;
      this.basePath = basePath;
      this.message = message;
    }
  }

  /** One exchange with a service, for a request of this id and base path. */
  private abstract static class Call<T> {
    private final String id;
    private final String basePath;

    Call(String id, String basePath) {
      this.id = id;
      this.basePath = basePath;
    }

    abstract T send(ServiceConnection connection, int timeoutMillis) throws TException;

    abstract Envelope envelope(T response);

    /** Checks that the response belongs to the request and has status OK. */
    final void check(T response, ServiceAddress address) throws PruningException {
      Envelope found = envelope(response);
      checkVersion(found.status, found.version, address);
      checkIds(id, basePath, found.id, found.basePath, address);
      checkStatus(found.status, found.message, address);
    }
  }

  /**
   * Returns the response of the first service that gives one.
   *
   * @return a response to exactly this request, with status OK
   * @throws PruningException if there is none; its outcome and message give the reason
   */
  public PruneResponse prune(
      PruneRequest request, List<ServiceAddress> addresses, Credentials credentials, Limits limits)
      throws PruningException {
    Call<PruneResponse> call =
        new Call<PruneResponse>(request.getRequestId(), request.getBasePath()) {
          @Override
          PruneResponse send(ServiceConnection connection, int timeoutMillis) throws TException {
            return connection.prune(request, timeoutMillis);
          }

          @Override
          Envelope envelope(PruneResponse response) {
            return new Envelope(
                response.getStatus(),
                response.getProtocolVersion(),
                response.getRequestId(),
                response.getBasePath(),
                response.getMessage());
          }
        };
    return first(call, addresses, credentials, limits);
  }

  /**
   * Returns the rows of a metadata view from the first service that gives them.
   *
   * @return a response to exactly this request, with status OK
   * @throws PruningException if there is none; its outcome and message give the reason
   */
  public MetadataResponse metadata(
      MetadataRequest request,
      List<ServiceAddress> addresses,
      Credentials credentials,
      Limits limits)
      throws PruningException {
    Call<MetadataResponse> call =
        new Call<MetadataResponse>(request.getRequestId(), request.getBasePath()) {
          @Override
          MetadataResponse send(ServiceConnection connection, int timeoutMillis) throws TException {
            return connection.metadata(request, timeoutMillis);
          }

          @Override
          Envelope envelope(MetadataResponse response) {
            return new Envelope(
                response.getStatus(),
                response.getProtocolVersion(),
                response.getRequestId(),
                response.getBasePath(),
                response.getMessage());
          }
        };
    return first(call, addresses, credentials, limits);
  }

  private <T> T first(
      Call<T> call, List<ServiceAddress> addresses, Credentials credentials, Limits limits)
      throws PruningException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limits.timeoutMillis);
    List<ServiceAddress> allowed = new ArrayList<>(addresses);
    allowed.removeIf(breaker::isOpen);
    PruningException failure =
        new PruningException(
            Outcome.UNREACHABLE,
            addresses.isEmpty()
                ? "no service address is set"
                : "skipped after recent failures: " + addresses);
    for (int i = 0; i < allowed.size(); i++) {
      ServiceAddress address = allowed.get(i);
      long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (left <= 0) {
        failure = new PruningException(Outcome.TIMED_OUT, "no time left to call a service");
        break;
      }
      if (!breaker.allows(address)) {
        continue;
      }
      try {
        T response = send(address, call, left / (allowed.size() - i), credentials, limits);
        breaker.succeeded(address);
        return response;
      } catch (PruningException e) {
        if (!e.blamesService()) {
          breaker.succeeded(address);
          throw e;
        }
        breaker.failed(address, limits.breakerMillis);
        failure = e;
      }
    }
    throw failure;
  }

  private <T> T send(
      ServiceAddress address, Call<T> call, long millis, Credentials credentials, Limits limits)
      throws PruningException {
    int timeout = (int) Math.max(1, Math.min(millis, Integer.MAX_VALUE));
    AtomicReference<ServiceConnection> used = new AtomicReference<>();
    Future<T> answer =
        threads.submit(
            () -> exchange(address, call, timeout, credentials, limits.maxResponseBytes, used));
    try {
      T response = answer.get(timeout, TimeUnit.MILLISECONDS);
      call.check(response, address);
      return response;
    } catch (TimeoutException e) {
      throw abandon(
          answer,
          used,
          new PruningException(Outcome.TIMED_OUT, late(address, timeout, limits.timeoutMillis)));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw abandon(
          answer,
          used,
          new PruningException(Outcome.TIMED_OUT, "interrupted while waiting for " + address));
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      // The socket's own limit may expire a moment earlier.
      throw isTimeout(cause)
          ? new PruningException(
              Outcome.TIMED_OUT, late(address, timeout, limits.timeoutMillis), cause)
          : explain(address, cause);
    }
  }

  private <T> T exchange(
      ServiceAddress address,
      Call<T> call,
      int timeoutMillis,
      Credentials credentials,
      int maxResponseBytes,
      AtomicReference<ServiceConnection> used)
      throws TException {
    ServiceConnection pooled = pool.take(address, credentials, maxResponseBytes);
    if (pooled != null) {
      try {
        return exchange(address, pooled, call, timeoutMillis, used);
      } catch (TTransportException e) {
        // The service may have been restarted since; retry on a new connection.
        if (isTimeout(e)) {
          throw e;
        }
      }
    }
    ServiceConnection fresh = new ServiceConnection(address, credentials, maxResponseBytes);
    used.set(fresh);
    fresh.open(timeoutMillis);
    return exchange(address, fresh, call, timeoutMillis, used);
  }

  private <T> T exchange(
      ServiceAddress address,
      ServiceConnection connection,
      Call<T> call,
      int timeoutMillis,
      AtomicReference<ServiceConnection> used)
      throws TException {
    used.set(connection);
    boolean done = false;
    try {
      T response = call.send(connection, timeoutMillis);
      done = true;
      return response;
    } finally {
      if (done) {
        used.set(null);
        pool.give(address, connection);
      } else {
        connection.close();
      }
    }
  }

  /** Names the limit, of which an address has only a part if there are several. */
  private static String late(ServiceAddress address, int millis, long limitMillis) {
    return address
        + " did not answer within "
        + millis
        + " ms, its part of hudi.pruning.timeout.ms="
        + limitMillis;
  }

  private static PruningException abandon(
      Future<?> answer, AtomicReference<ServiceConnection> used, PruningException reason) {
    answer.cancel(true);
    ServiceConnection connection = used.get();
    if (connection != null) {
      connection.close();
    }
    return reason;
  }

  private static PruningException explain(ServiceAddress address, Throwable cause) {
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

  private static boolean isTimeout(Throwable cause) {
    return cause instanceof TTransportException
        && (((TTransportException) cause).getType() == TTransportException.TIMED_OUT
            || cause.getCause() instanceof SocketTimeoutException);
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

  private static void checkStatus(PruneStatus status, String message, ServiceAddress address)
      throws PruningException {
    if (status != PruneStatus.OK) {
      throw new PruningException(
          outcomeOf(status), address + " answered " + status + ": " + message);
    }
  }

  private static Outcome outcomeOf(PruneStatus status) {
    if (status == PruneStatus.NOT_PRUNED) {
      return Outcome.NOTHING_PROVED;
    }
    return status == PruneStatus.BAD_REQUEST ? Outcome.REFUSED : Outcome.SERVICE_FAILED;
  }
}
