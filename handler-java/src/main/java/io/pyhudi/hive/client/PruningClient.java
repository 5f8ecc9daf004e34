package io.pyhudi.hive.client;

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

  /**
   * Returns the response of the first service that gives one.
   *
   * @return a response to exactly this request, with status OK
   * @throws PruningException if there is none; its outcome and message give the reason
   */
  public PruneResponse prune(
      PruneRequest request, List<ServiceAddress> addresses, Credentials credentials, Limits limits)
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
        PruneResponse response =
            send(address, request, left / (allowed.size() - i), credentials, limits);
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

  private PruneResponse send(
      ServiceAddress address,
      PruneRequest request,
      long millis,
      Credentials credentials,
      Limits limits)
      throws PruningException {
    int timeout = (int) Math.max(1, Math.min(millis, Integer.MAX_VALUE));
    AtomicReference<ServiceConnection> used = new AtomicReference<>();
    Future<PruneResponse> call =
        threads.submit(
            () -> call(address, request, timeout, credentials, limits.maxResponseBytes, used));
    try {
      return check(request, call.get(timeout, TimeUnit.MILLISECONDS), address);
    } catch (TimeoutException e) {
      throw abandon(
          call,
          used,
          new PruningException(
              Outcome.TIMED_OUT, address + " did not answer within " + timeout + " ms"));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw abandon(
          call,
          used,
          new PruningException(Outcome.TIMED_OUT, "interrupted while waiting for " + address));
    } catch (ExecutionException e) {
      throw explain(address, e.getCause());
    }
  }

  private PruneResponse call(
      ServiceAddress address,
      PruneRequest request,
      int timeoutMillis,
      Credentials credentials,
      int maxResponseBytes,
      AtomicReference<ServiceConnection> used)
      throws TException {
    ServiceConnection pooled = pool.take(address, credentials, maxResponseBytes);
    if (pooled != null) {
      try {
        return exchange(address, pooled, request, timeoutMillis, used);
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
    return exchange(address, fresh, request, timeoutMillis, used);
  }

  private PruneResponse exchange(
      ServiceAddress address,
      ServiceConnection connection,
      PruneRequest request,
      int timeoutMillis,
      AtomicReference<ServiceConnection> used)
      throws TException {
    used.set(connection);
    boolean done = false;
    try {
      PruneResponse response = connection.prune(request, timeoutMillis);
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

  private static PruningException abandon(
      Future<PruneResponse> call,
      AtomicReference<ServiceConnection> used,
      PruningException reason) {
    call.cancel(true);
    ServiceConnection connection = used.get();
    if (connection != null) {
      connection.close();
    }
    return reason;
  }

  private static PruningException explain(ServiceAddress address, Throwable cause) {
    if (isTimeout(cause)) {
      return new PruningException(Outcome.TIMED_OUT, address + " did not answer in time", cause);
    }
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

  /** Checks that the response belongs to the request and has status OK. */
  private static PruneResponse check(
      PruneRequest request, PruneResponse response, ServiceAddress address)
      throws PruningException {
    if (response.getStatus() == PruneStatus.UNSUPPORTED_VERSION
        || response.getProtocolVersion() != pruningConstants.PROTOCOL_VERSION) {
      throw new PruningException(
          Outcome.OTHER_VERSION,
          address
              + " uses protocol version "
              + response.getProtocolVersion()
              + ", this handler uses "
              + pruningConstants.PROTOCOL_VERSION);
    }
    if (!request.getRequestId().equals(response.getRequestId())
        || !request.getBasePath().equals(response.getBasePath())) {
      throw new PruningException(
          Outcome.WRONG_ANSWER,
          address
              + " answered "
              + response.getRequestId()
              + " for "
              + response.getBasePath()
              + ", expected "
              + request.getRequestId()
              + " for "
              + request.getBasePath());
    }
    PruneStatus status = response.getStatus();
    if (status != PruneStatus.OK) {
      throw new PruningException(
          outcomeOf(status), address + " answered " + status + ": " + response.getMessage());
    }
    return response;
  }

  private static Outcome outcomeOf(PruneStatus status) {
    if (status == PruneStatus.NOT_PRUNED) {
      return Outcome.NOTHING_PROVED;
    }
    return status == PruneStatus.BAD_REQUEST ? Outcome.REFUSED : Outcome.SERVICE_FAILED;
  }
}
