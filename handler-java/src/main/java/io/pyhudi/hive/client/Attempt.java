package io.pyhudi.hive.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.apache.thrift.TException;

/** One exchange with a service in a thread of its own, which can be given up at any time. */
final class Attempt<T> {
  /** What the thread does. It tells the attempt which connection it uses. */
  interface Exchange<T> {
    T run(Attempt<T> attempt) throws TException;
  }

  private final CompletableFuture<T> result = new CompletableFuture<>();
  private volatile ServiceConnection used;
  private volatile boolean abandoned;

  private Attempt() {}

  static <T> Attempt<T> start(Executor threads, Exchange<T> exchange) {
    Attempt<T> attempt = new Attempt<>();
    threads.execute(() -> attempt.run(exchange));
    return attempt;
  }

  private void run(Exchange<T> exchange) {
    T response;
    try {
      response = exchange.run(this);
    } catch (TException | RuntimeException | Error e) {
      result.completeExceptionally(e);
      return;
    }
    result.complete(response);
  }

  /** Says which connection the exchange uses now, so that it can be closed. */
  void uses(ServiceConnection connection) {
    used = connection;
    if (abandoned) {
      connection.close();
    }
  }

  /** Says that the exchange has given its connection back. */
  void usesNone() {
    used = null;
  }

  T await(long millis) throws InterruptedException, ExecutionException, TimeoutException {
    return result.get(millis, TimeUnit.MILLISECONDS);
  }

  boolean hasSucceeded() {
    return result.isDone() && !result.isCompletedExceptionally();
  }

  /** Has something done with the response, or with the failure; one of the two is null. */
  void whenDone(BiConsumer<T, Throwable> action) {
    result.whenComplete(action);
  }

  /** Gives up: closes the connection, which ends the exchange. */
  void abandon() {
    abandoned = true;
    ServiceConnection connection = used;
    if (connection != null) {
      connection.close();
    }
  }
}
