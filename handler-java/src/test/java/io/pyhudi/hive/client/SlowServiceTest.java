package io.pyhudi.hive.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import java.net.ServerSocket;
import java.util.Collections;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the circuit breaker makes of services that are slow and alive, and what of late answers. */
@Timeout(60)
class SlowServiceTest {
  private static final long TIMEOUT_MS = 600;
  private static final long PAUSE_MS = 60_000;

  private final BlockingQueue<PruneResponse> late = new LinkedBlockingQueue<>();
  private final CountDownLatch ready = new CountDownLatch(1);

  private static PruneRequest request(String id) {
    return new PruneRequest(
        pruningConstants.PROTOCOL_VERSION,
        id,
        "/table",
        Collections.emptyList(),
        TableView.SNAPSHOT);
  }

  /** Answers when it is told that the answer is ready. */
  private PruneResponse slowly(PruneRequest request) {
    try {
      ready.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return new PruneResponse(
        request.getProtocolVersion(),
        request.getRequestId(),
        request.getBasePath(),
        PruneStatus.OK);
  }

  private PruneResponse ask(PruningClient client, String id, ServiceAddress address)
      throws PruningException {
    return client.prune(
        request(id),
        Collections.singletonList(address),
        Credentials.NONE,
        new PruningClient.Limits(TIMEOUT_MS, 1 << 20, PAUSE_MS),
        late::add);
  }

  private String failure(PruningClient client, String id, ServiceAddress address) {
    PruningException reason = assertThrows(PruningException.class, () -> ask(client, id, address));
    return reason.outcome() + " " + reason.getMessage();
  }

  private static void awaitLateCalls(PruningClient client) {
    while (client.lateCalls() > 0) {
      TestService.pause(10);
    }
  }

  @Test
  void isNotSkippedHoweverOftenItIsLate() throws Exception {
    PruningClient client = new PruningClient();
    try (TestService service = TestService.answering(this::slowly)) {
      for (int i = 0; i < 5; i++) {
        String reason = failure(client, "q" + i, service.address());
        assertTrue(reason.startsWith("TIMED_OUT "), reason);
        assertTrue(reason.endsWith("it is at work, and an equal question may use its answer"));
      }
      ready.countDown();
      assertEquals("q5", ask(client, "q5", service.address()).getRequestId());
    }
  }

  @Test
  void itsAnswerComesLaterAndIsOneToTheRequest() throws Exception {
    PruningClient client = new PruningClient();
    try (TestService service = TestService.answering(this::slowly)) {
      failure(client, "q0", service.address());
      assertEquals(1, client.lateCalls());
      assertNull(late.poll());
      ready.countDown();
      assertEquals("q0", late.poll(20, TimeUnit.SECONDS).getRequestId());
      awaitLateCalls(client);
    }
  }

  @Test
  void aLateAnswerToAnotherQuestionIsNone() throws Exception {
    PruningClient client = new PruningClient();
    try (TestService service =
        TestService.answering(request -> slowly(request).setBasePath("/other"))) {
      failure(client, "q0", service.address());
      ready.countDown();
      awaitLateCalls(client);
      assertNull(late.poll());
    }
  }

  @Test
  void oneThatIsAliveAndNeverAnswersIsSkipped() throws Exception {
    PruningClient client = new PruningClient(10);
    try (TestService service = TestService.answering(this::slowly)) {
      ServiceAddress address = service.address();
      for (int i = 0; i < 3; i++) {
        assertTrue(failure(client, "q" + i, address).contains("it is at work"));
        awaitLateCalls(client);
      }
      assertTrue(failure(client, "q3", address).startsWith("UNREACHABLE skipped"));
    }
  }

  @Test
  void onlySoManyCallsGoOn() throws Exception {
    PruningClient client = new PruningClient();
    try (TestService service = TestService.answering(this::slowly)) {
      Thread[] queries = new Thread[LateCalls.MOST + 4];
      for (int i = 0; i < queries.length; i++) {
        String id = "q" + i;
        queries[i] = new Thread(() -> failure(client, id, service.address()));
        queries[i].start();
      }
      for (Thread query : queries) {
        query.join();
      }
      assertTrue(client.lateCalls() <= LateCalls.MOST);
      ready.countDown();
      awaitLateCalls(client);
      assertEquals("q", ask(client, "q", service.address()).getRequestId());
    }
  }

  @Test
  void oneThatHangsIsSkippedAfterThreeFailures() throws Exception {
    PruningClient client = new PruningClient();
    try (ServerSocket silent = new ServerSocket(0)) {
      ServiceAddress hung = new ServiceAddress("127.0.0.1", silent.getLocalPort());
      for (int i = 0; i < 3; i++) {
        String reason = failure(client, "q" + i, hung);
        assertTrue(reason.startsWith("TIMED_OUT "), reason);
        assertTrue(!reason.contains("at work"), reason);
      }
      assertTrue(failure(client, "q3", hung).startsWith("UNREACHABLE skipped"));
      assertEquals(0, client.lateCalls());
    }
  }
}
