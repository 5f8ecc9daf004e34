package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.MetadataRequest;
import io.pyhudi.hive.protocol.MetadataResponse;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.ServiceInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.thrift.TException;
import org.apache.thrift.transport.TTransportException;

/**
 * Calls the pruning services of a list in turn, until one responds or the time limit expires.
 *
 * <p>The time limit holds for everything together: name look-up, connecting, sending, the service's
 * work and reading its answer. Each call therefore runs in a thread of its own, whose socket is
 * closed when the time is up.
 *
 * <p>A slow service is not a dead one. When half of the time is up, the client asks it for its
 * version, over another connection. If it has answered that when all of the time is up, it is
 * computing: the circuit breaker does not count this, and the call goes on for a while, so that the
 * next equal question finds its answer ({@link LateCalls}). If it has not, or if the call does not
 * end in this while, it counts as a failure.
 */
public final class PruningClient {
  private static final long LATE_MILLIS = 30_000;
  private static final int MAX_SIGN_BYTES = 1 << 20;
  private static final PruningClient SHARED = new PruningClient();

  private final ConnectionPool pool = new ConnectionPool();
  private final CircuitBreaker breaker = new CircuitBreaker(System::nanoTime);
  private final UnawareServices unaware = new UnawareServices();
  private final LateCalls lateCalls;
  private final ExecutorService threads;

  public PruningClient() {
    this(LATE_MILLIS);
  }

  /**
   * @param lateMillis how long the call of a slow service goes on
   */
  PruningClient(long lateMillis) {
    lateCalls = new LateCalls(lateMillis);
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

  /** Returns how many calls go on that no query waits for. */
  int lateCalls() {
    return lateCalls.running();
  }

  /** The limits of a call. */
  public static final class Limits {
    final long timeoutMillis;
    final int maxResponseBytes;
    final long breakerMillis;
    final String timeoutSetting;

    /**
     * @param breakerMillis how long an address that keeps failing is skipped
     */
    public Limits(long timeoutMillis, int maxResponseBytes, long breakerMillis) {
      this(timeoutMillis, maxResponseBytes, breakerMillis, "hudi.pruning.timeout.ms");
    }

    /**
     * @param breakerMillis how long an address that keeps failing is skipped
     * @param timeoutSetting the user's name of the time limit
     */
    public Limits(
        long timeoutMillis, int maxResponseBytes, long breakerMillis, String timeoutSetting) {
      this.timeoutMillis = timeoutMillis;
      this.maxResponseBytes = maxResponseBytes;
      this.breakerMillis = breakerMillis;
      this.timeoutSetting = timeoutSetting;
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
    return prune(request, addresses, credentials, limits, late -> {});
  }

  /**
   * Returns the response of the first service that gives one.
   *
   * @param late takes such a response if it comes when the time is up, in another thread
   * @return a response to exactly this request, with status OK
   * @throws PruningException if there is none; its outcome and message give the reason
   */
  public PruneResponse prune(
      PruneRequest request,
      List<ServiceAddress> addresses,
      Credentials credentials,
      Limits limits,
      Consumer<PruneResponse> late)
      throws PruningException {
    Call<PruneResponse> call =
        new Call<PruneResponse>(request.getRequestId(), request.getBasePath()) {
          @Override
          void late(PruneResponse response) {
            late.accept(response);
          }

          @Override
          PruneResponse send(ServiceConnection connection, int patienceMillis, int timeoutMillis)
              throws TException {
            request.setPatienceMillis(patienceMillis);
            return connection.prune(request, timeoutMillis);
          }

          @Override
          Outcome outcome(PruneResponse response, PruneStatus status) {
            return response.isLacksKeys() ? Outcome.LACKS_KEYS : super.outcome(response, status);
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
          MetadataResponse send(ServiceConnection connection, int patienceMillis, int timeoutMillis)
              throws TException {
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

  /**
   * Tells the first service that may be called that a question will follow. Nobody waits for it,
   * and a failure has no consequences. A service that does not know this call is not called again
   * for a while.
   */
  public void announce(
      PruneRequest request,
      List<ServiceAddress> addresses,
      Credentials credentials,
      Limits limits) {
    addresses.stream()
        .filter(address -> !breaker.isOpen(address))
        .findFirst()
        .filter(unaware::mayBeTold)
        .ifPresent(address -> announce(request, address, credentials, limits));
  }

  private void announce(
      PruneRequest request, ServiceAddress address, Credentials credentials, Limits limits) {
    int timeout = (int) Math.min(limits.timeoutMillis, Integer.MAX_VALUE / 2);
    Attempt<PruneStatus> attempt =
        Attempt.start(
            threads,
            started -> {
              try (ServiceConnection connection =
                  new ServiceConnection(address, credentials, MAX_SIGN_BYTES)) {
                started.uses(connection);
                connection.open(timeout);
                return connection.announce(request, timeout);
              }
            });
    attempt.whenDone((status, failure) -> unaware.note(address, failure));
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
        return send(address, call, left / (allowed.size() - i), credentials, limits);
      } catch (PruningException e) {
        if (!e.blamesService()) {
          throw e;
        }
        failure = e;
      }
    }
    throw failure;
  }

  /** Calls one service, and tells the breaker what that says of it. */
  private <T> T send(
      ServiceAddress address, Call<T> call, long millis, Credentials credentials, Limits limits)
      throws PruningException {
    int timeout = (int) Math.max(1, Math.min(millis, Integer.MAX_VALUE / 2));
    Attempt<T> answer =
        Attempt.start(
            threads,
            attempt ->
                exchange(address, call, timeout, credentials, limits.maxResponseBytes, attempt));
    Attempt<ServiceInfo> sign = null;
    try {
      T response = awaitFirstHalf(answer, timeout);
      if (response == null) {
        sign =
            Attempt.start(threads, attempt -> askForSign(address, credentials, timeout, attempt));
        response = answer.await(timeout - timeout / 2);
      }
      call.check(response, address);
      breaker.succeeded(address);
      return response;
    } catch (TimeoutException e) {
      if (sign != null && sign.hasSucceeded()) {
        throw slow(address, answer, call, timeout, limits);
      }
      throw failed(address, answer, timedOut(late(address, timeout, limits)), limits);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      String message = "interrupted while waiting for " + address;
      throw failed(address, answer, timedOut(message), limits);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      // The socket's own limit may expire a moment earlier.
      PruningException reason =
          Failures.isTimeout(cause)
              ? new PruningException(Outcome.TIMED_OUT, late(address, timeout, limits), cause)
              : Failures.explain(address, cause);
      throw failed(address, answer, reason, limits);
    } catch (PruningException e) {
      outcome(address, e, limits);
      throw e;
    } finally {
      if (sign != null) {
        sign.abandon();
      }
    }
  }

  /** Returns the answer, or null if there is none when half of the time is up. */
  private static <T> T awaitFirstHalf(Attempt<T> answer, int timeoutMillis)
      throws InterruptedException, ExecutionException {
    try {
      return answer.await(timeoutMillis / 2);
    } catch (TimeoutException e) {
      return null;
    }
  }

  /** Asks a service for what it answers at once if it is alive. */
  private static ServiceInfo askForSign(
      ServiceAddress address, Credentials credentials, int millis, Attempt<ServiceInfo> attempt)
      throws TException {
    try (ServiceConnection connection =
        new ServiceConnection(address, credentials, MAX_SIGN_BYTES)) {
      attempt.uses(connection);
      connection.open(millis);
      return connection.info(millis);
    }
  }

  /** Lets the call of a service that is alive go on. Whether it fails will be known later. */
  private <T> PruningException slow(
      ServiceAddress address, Attempt<T> answer, Call<T> call, int timeout, Limits limits) {
    boolean goesOn =
        lateCalls.accept(
            answer, (response, failure) -> takeLate(address, call, response, failure, limits));
    String next = goesOn ? "; it is at work, and an equal question may use its answer" : "";
    return timedOut(late(address, timeout, limits) + next);
  }

  private <T> void takeLate(
      ServiceAddress address, Call<T> call, T response, Throwable failure, Limits limits) {
    if (failure != null) {
      breaker.failed(address, limits.breakerMillis);
      return;
    }
    try {
      call.check(response, address);
      breaker.succeeded(address);
      call.late(response);
    } catch (PruningException e) {
      outcome(address, e, limits);
    }
  }

  private PruningException failed(
      ServiceAddress address, Attempt<?> answer, PruningException reason, Limits limits) {
    answer.abandon();
    outcome(address, reason, limits);
    return reason;
  }

  private void outcome(ServiceAddress address, PruningException reason, Limits limits) {
    if (reason.blamesService()) {
      breaker.failed(address, limits.breakerMillis);
    } else {
      breaker.succeeded(address);
    }
  }

  private <T> T exchange(
      ServiceAddress address,
      Call<T> call,
      int timeoutMillis,
      Credentials credentials,
      int maxResponseBytes,
      Attempt<T> attempt)
      throws TException {
    ServiceConnection pooled = pool.take(address, credentials, maxResponseBytes);
    if (pooled != null) {
      try {
        return exchange(address, pooled, call, timeoutMillis, attempt);
      } catch (TTransportException e) {
        // The service may have been restarted since; retry on a new connection.
        if (Failures.isTimeout(e)) {
          throw e;
        }
      }
    }
    ServiceConnection fresh = new ServiceConnection(address, credentials, maxResponseBytes);
    attempt.uses(fresh);
    fresh.open(timeoutMillis);
    return exchange(address, fresh, call, timeoutMillis, attempt);
  }

  private <T> T exchange(
      ServiceAddress address,
      ServiceConnection connection,
      Call<T> call,
      int timeoutMillis,
      Attempt<T> attempt)
      throws TException {
    attempt.uses(connection);
    boolean done = false;
    try {
      T response =
          call.send(connection, timeoutMillis, timeoutMillis + (int) lateCalls.limitMillis());
      done = true;
      return response;
    } finally {
      attempt.usesNone();
      if (done) {
        pool.give(address, connection);
      } else {
        connection.close();
      }
    }
  }

  private static PruningException timedOut(String message) {
    return new PruningException(Outcome.TIMED_OUT, message);
  }

  /** Names the limit, of which an address has only a part if there are several. */
  private static String late(ServiceAddress address, int millis, Limits limits) {
    return address
        + " did not answer within "
        + millis
        + " ms, its part of "
        + limits.timeoutSetting
        + "="
        + limits.timeoutMillis;
  }
}
