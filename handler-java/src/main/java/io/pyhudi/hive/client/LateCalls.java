package io.pyhudi.hive.client;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Calls that their queries do not wait for any longer. The service is computing the answer, which
 * the next equal question can use. Only so many go on, and each for a limited time only.
 */
final class LateCalls {
  static final int MOST = 16;

  private final Semaphore places = new Semaphore(MOST);
  private final ScheduledThreadPoolExecutor timer;
  private final long limitMillis;

  /**
   * @param limitMillis how long a call goes on
   */
  LateCalls(long limitMillis) {
    this.limitMillis = limitMillis;
    timer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "hudi-pruning-late");
              thread.setDaemon(true);
              return thread;
            });
    timer.setRemoveOnCancelPolicy(true);
  }

  long limitMillis() {
    return limitMillis;
  }

  /**
   * Lets a call go on.
   *
   * @param whenDone gets its response, or its failure: also if the time is up
   * @return false if too many do; the call is then given up
   */
  <T> boolean accept(Attempt<T> call, BiConsumer<T, Throwable> whenDone) {
    if (!places.tryAcquire()) {
      call.abandon();
      return false;
    }
    Future<?> end = timer.schedule(call::abandon, limitMillis, TimeUnit.MILLISECONDS);
    call.whenDone(
        (response, failure) -> {
          end.cancel(false);
          try {
            whenDone.accept(response, failure);
          } finally {
            places.release();
          }
        });
    return true;
  }

  /** Returns how many calls go on. */
  int running() {
    return MOST - places.availablePermits();
  }
}
