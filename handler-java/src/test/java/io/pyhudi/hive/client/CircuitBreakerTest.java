package io.pyhudi.hive.client;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class CircuitBreakerTest {
  private static final ServiceAddress HERE = new ServiceAddress("here", 1);
  private static final ServiceAddress THERE = new ServiceAddress("there", 1);

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1000);
  private final CircuitBreaker breaker = new CircuitBreaker(nanos::get);

  private void fail(int times) {
    for (int i = 0; i < times; i++) {
      breaker.failed(HERE, 5000);
    }
  }

  @Test
  void opensAtTheThirdFailureInARow() {
    fail(2);
    assertTrue(breaker.allows(HERE));
    fail(1);
    assertFalse(breaker.allows(HERE));
    assertTrue(breaker.allows(THERE));
  }

  @Test
  void successForgetsFailures() {
    fail(2);
    breaker.succeeded(HERE);
    fail(2);
    assertTrue(breaker.allows(HERE));
  }

  @Test
  void letsOneTryThroughAfterThePauseAndClosesAgainWhenItFails() {
    fail(3);
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(4999));
    assertTrue(breaker.isOpen(HERE));
    assertFalse(breaker.allows(HERE));
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
    assertFalse(breaker.isOpen(HERE));
    assertFalse(breaker.isOpen(HERE), "isOpen must not count as a call");
    assertTrue(breaker.allows(HERE));
    for (int others = 0; others < 50; others++) {
      assertFalse(breaker.allows(HERE));
    }
    fail(1);
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(4999));
    assertTrue(breaker.isOpen(HERE));
    assertFalse(breaker.allows(HERE));
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
    assertTrue(breaker.allows(HERE));
    breaker.succeeded(HERE);
    assertTrue(breaker.allows(HERE));
    assertTrue(breaker.allows(HERE));
  }
}
