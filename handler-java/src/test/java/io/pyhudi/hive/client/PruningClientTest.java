package io.pyhudi.hive.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.transport.TMemoryBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the client makes of services that are right, slow, hung, wrong, down or of another kind. */
@Timeout(30)
class PruningClientTest {
  private static final int VERSION = pruningConstants.PROTOCOL_VERSION;
  private static final long TIMEOUT_MS = 500;

  private final PruningClient client = new PruningClient();

  private static PruneRequest request(String id) {
    return new PruneRequest(VERSION, id, "/table", Collections.emptyList(), TableView.SNAPSHOT);
  }

  private static PruneResponse echo(PruneRequest request) {
    return new PruneResponse(
        request.getProtocolVersion(),
        request.getRequestId(),
        request.getBasePath(),
        PruneStatus.OK);
  }

  private static PruningClient.Limits limits(long breakerMillis) {
    return new PruningClient.Limits(TIMEOUT_MS, 1 << 20, breakerMillis);
  }

  private PruneResponse request(ServiceAddress... addresses) throws PruningException {
    return client.prune(
        request("q1"), Arrays.asList(addresses), Credentials.NONE, limits(0), late -> {});
  }

  private Outcome outcomeOf(ServiceAddress... addresses) {
    return assertThrows(PruningException.class, () -> request(addresses)).outcome();
  }

  private Outcome outcomeOf(UnaryOperator<PruneResponse> change) throws Exception {
    try (TestService service = TestService.answering(request -> change.apply(echo(request)))) {
      return outcomeOf(service.address());
    }
  }

  @Test
  void returnsTheAnswerOfAService() throws Exception {
    try (TestService service = TestService.answering(PruningClientTest::echo)) {
      assertEquals("q1", request(service.address()).getRequestId());
    }
  }

  @Test
  void tellsAServiceHowLongTheQueryWaits() throws Exception {
    List<Integer> told = new CopyOnWriteArrayList<>();
    try (TestService service =
        TestService.answering(
            request -> {
              told.add(request.getPatienceMillis());
              return echo(request);
            })) {
      request(service.address());
      assertEquals(1, told.size());
      assertTrue(told.get(0) > 0 && told.get(0) <= TIMEOUT_MS, "told " + told);
    }
  }

  @Test
  void aServiceThatIsStillOpeningATableIsCalledForTheNextQuestion() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    try (TestService service =
        TestService.answering(
            request -> {
              calls.incrementAndGet();
              return echo(request).setStatus(PruneStatus.NOT_PRUNED);
            })) {
      for (int i = 0; i < 5; i++) {
        PruningException unpruned =
            assertThrows(
                PruningException.class,
                () ->
                    client.prune(
                        request("q1"),
                        Collections.singletonList(service.address()),
                        Credentials.NONE,
                        limits(600_000)));
        assertEquals(Outcome.NOTHING_PROVED, unpruned.outcome());
      }
      assertEquals(5, calls.get());
    }
  }

  @Test
  void answersManyCallsOverPooledConnections() throws Exception {
    try (TestService service =
        TestService.answering(
            request -> echo(request).setMessage(String.join("", Collections.nCopies(9999, "x"))))) {
      for (int i = 0; i < 300; i++) {
        // 3 MB together, three times what one answer may have.
        assertEquals(9999, request(service.address()).getMessage().length());
      }
      assertEquals(1, service.connections());
    }
  }

  @Test
  void givesUpOnASlowServiceWhenTheTimeIsUp() throws Exception {
    try (TestService service =
        TestService.answering(
            request -> {
              TestService.pause(5 * TIMEOUT_MS);
              return echo(request);
            })) {
      long start = System.nanoTime();
      assertEquals(Outcome.TIMED_OUT, outcomeOf(service.address()));
      assertTrue(Duration.ofNanos(System.nanoTime() - start).toMillis() < 3 * TIMEOUT_MS);
    }
  }

  @Test
  void givesUpOnAServiceThatAcceptsAndStaysSilent() throws Exception {
    try (ServerSocket silent = new ServerSocket(0)) {
      assertEquals(
          Outcome.TIMED_OUT, outcomeOf(new ServiceAddress("127.0.0.1", silent.getLocalPort())));
    }
  }

  @Test
  void saysHowMuchOfTheTimeLimitAnAddressHad() throws Exception {
    try (ServerSocket one = new ServerSocket(0);
        ServerSocket other = new ServerSocket(0)) {
      ServiceAddress first = new ServiceAddress("127.0.0.1", one.getLocalPort());
      ServiceAddress second = new ServiceAddress("127.0.0.1", other.getLocalPort());
      PruningException late = assertThrows(PruningException.class, () -> request(first, second));
      String part = " did not answer within \\d+ ms, its part of hudi.pruning.timeout.ms=500";
      assertTrue(late.getMessage().matches(second + part), late.getMessage());
    }
  }

  @Test
  void givesUpOnAnAnswerThatDripsInByteByByte() throws Exception {
    // Each byte comes within the socket's time-out; together they would take 20 s.
    try (RawService dripping =
        RawService.writing(new byte[] {0, 0, 0, 100}, 100, TIMEOUT_MS * 2 / 5)) {
      long start = System.nanoTime();
      assertEquals(Outcome.TIMED_OUT, outcomeOf(dripping.address()));
      assertTrue(Duration.ofNanos(System.nanoTime() - start).toMillis() < 3 * TIMEOUT_MS);
    }
  }

  @Test
  void takesGarbageForAWrongAnswer() throws Exception {
    try (RawService http =
        RawService.writing("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes("UTF-8"), 0, 0)) {
      assertEquals(Outcome.WRONG_ANSWER, outcomeOf(http.address()));
    }
    try (RawService frame = RawService.writing(new byte[] {0, 0, 0, 4, 9, 9, 9, 9}, 0, 0)) {
      assertEquals(Outcome.WRONG_ANSWER, outcomeOf(frame.address()));
    }
  }

  @Test
  void reportsWhyAServiceRefusesItsToken() throws Exception {
    TMemoryBuffer reply = new TMemoryBuffer(200);
    TBinaryProtocol protocol = new TBinaryProtocol(reply);
    protocol.writeMessageBegin(new TMessage("refused", TMessageType.EXCEPTION, 0));
    new TApplicationException(
            TApplicationException.UNSUPPORTED_CLIENT_TYPE, "the caller's token is another one")
        .write(protocol);
    protocol.writeMessageEnd();
    byte[] frame =
        ByteBuffer.allocate(4 + reply.length())
            .putInt(reply.length())
            .put(reply.getArray(), 0, reply.length())
            .array();
    try (RawService service = RawService.writing(frame, 0, 0)) {
      PruningException refused =
          assertThrows(PruningException.class, () -> request(service.address()));
      assertEquals(Outcome.UNREACHABLE, refused.outcome());
      assertTrue(
          refused.getMessage().contains("token.file): the caller's token is another one"),
          refused.getMessage());
      try (TestService other = TestService.answering(PruningClientTest::echo)) {
        assertEquals("q1", request(service.address(), other.address()).getRequestId());
      }
    }
  }

  @Test
  void reportsAConnectionThatIsClosedWithoutAnAnswer() throws Exception {
    try (RawService closing = RawService.writing(new byte[0], 0, 0)) {
      PruningException closed =
          assertThrows(PruningException.class, () -> request(closing.address()));
      assertEquals(Outcome.UNREACHABLE, closed.outcome());
      assertTrue(closed.getMessage().contains("hudi.pruning.tls.ca"), closed.getMessage());
    }
  }

  @Test
  void refusesAnAnswerLargerThanTheLimit() throws Exception {
    String large = String.join("", Collections.nCopies(2 << 20, "x"));
    assertEquals(
        Outcome.WRONG_ANSWER, outcomeOf((PruneResponse response) -> response.setMessage(large)));
  }

  @Test
  void refusesAnswersToOtherQuestions() throws Exception {
    assertEquals(
        Outcome.WRONG_ANSWER,
        outcomeOf((PruneResponse response) -> response.setBasePath("/other")));
    assertEquals(
        Outcome.WRONG_ANSWER, outcomeOf((PruneResponse response) -> response.setRequestId("q0")));
  }

  @Test
  void refusesOtherVersions() throws Exception {
    assertEquals(
        Outcome.OTHER_VERSION,
        outcomeOf((PruneResponse response) -> response.setProtocolVersion(VERSION + 1)));
    assertEquals(
        Outcome.OTHER_VERSION,
        outcomeOf((PruneResponse response) -> response.setStatus(PruneStatus.UNSUPPORTED_VERSION)));
  }

  @Test
  void tellsWhyAServiceDidNotPrune() throws Exception {
    assertEquals(
        Outcome.NOTHING_PROVED,
        outcomeOf((PruneResponse response) -> response.setStatus(PruneStatus.NOT_PRUNED)));
    assertEquals(
        Outcome.REFUSED,
        outcomeOf((PruneResponse response) -> response.setStatus(PruneStatus.BAD_REQUEST)));
    assertEquals(
        Outcome.LACKS_KEYS,
        outcomeOf(
            (PruneResponse response) ->
                response.setStatus(PruneStatus.BAD_REQUEST).setLacksKeys(true)));
    assertEquals(
        Outcome.SERVICE_FAILED,
        outcomeOf((PruneResponse response) -> response.setStatus(PruneStatus.FAILED)));
  }

  @Test
  void asksTheNextAddressWhenOneIsDownOrHung() throws Exception {
    try (TestService service = TestService.answering(PruningClientTest::echo);
        ServerSocket silent = new ServerSocket(0)) {
      ServiceAddress hung = new ServiceAddress("127.0.0.1", silent.getLocalPort());
      assertEquals("q1", request(closedPort(), hung, service.address()).getRequestId());
    }
  }

  @Test
  void doesNotAskTheNextAddressWhenTheServiceIsNotToBlame() throws Exception {
    try (TestService refusing =
            TestService.answering(request -> echo(request).setStatus(PruneStatus.BAD_REQUEST));
        TestService other = TestService.answering(PruningClientTest::echo)) {
      assertEquals(Outcome.REFUSED, outcomeOf(refusing.address(), other.address()));
      assertEquals(0, other.connections());
    }
  }

  @Test
  void survivesARestartOfTheService() throws Exception {
    int port;
    try (TestService service = TestService.answering(PruningClientTest::echo)) {
      request(service.address());
      port = service.address().port();
    }
    try (TestService again = TestService.answering(port, PruningClientTest::echo)) {
      assertEquals("q1", request(again.address()).getRequestId());
    }
  }

  @Test
  void isUnreachableWithoutAService() throws Exception {
    assertEquals(Outcome.UNREACHABLE, outcomeOf(closedPort()));
    assertEquals(Outcome.UNREACHABLE, outcomeOf(new ServiceAddress[0]));
    assertEquals(Outcome.UNREACHABLE, outcomeOf(new ServiceAddress("no-such-host.invalid", 1)));
  }

  @Test
  void tellsTheFirstServiceOfAQuestion() throws Exception {
    try (TestService first = TestService.answering(PruningClientTest::echo);
        TestService second = TestService.answering(PruningClientTest::echo)) {
      announce(first.address(), second.address());
      announce(first.address(), second.address());
      awaitAnnouncements(first, 2);
      assertEquals(0, second.announcements());
    }
  }

  @Test
  void tellsAServiceOfAnOlderVersionOnce() throws Exception {
    try (TestService service = TestService.answering(PruningClientTest::echo)) {
      service.forgetAnnouncements();
      announce(service.address());
      awaitAnnouncements(service, 1);
      TestService.pause(200); // until its answer is noticed
      announce(service.address());
      TestService.pause(200);
      assertEquals(1, service.announcements());
      assertEquals("q1", request(service.address()).getRequestId());
    }
  }

  @Test
  void anAnnouncementToNobodyChangesNothing() throws Exception {
    announce();
    ServiceAddress closed = closedPort();
    for (int i = 0; i < 4; i++) {
      announce(closed);
    }
    TestService.pause(200);
    assertEquals(Outcome.UNREACHABLE, outcomeOf(closed));
  }

  private void announce(ServiceAddress... addresses) {
    client.announce(request("q1"), Arrays.asList(addresses), Credentials.NONE, limits(60_000));
  }

  private static void awaitAnnouncements(TestService service, int number) {
    for (int i = 0; i < 100 && service.announcements() < number; i++) {
      TestService.pause(50);
    }
    assertEquals(number, service.announcements());
  }

  @Test
  void skipsAnAddressThatKeepsFailing() throws Exception {
    List<ServiceAddress> down = Collections.singletonList(closedPort());
    for (int i = 0; i < 3; i++) {
      assertThrows(
          PruningException.class,
          () -> client.prune(request("q1"), down, Credentials.NONE, limits(60_000), late -> {}));
    }
    PruningException skipped =
        assertThrows(
            PruningException.class,
            () -> client.prune(request("q1"), down, Credentials.NONE, limits(60_000), late -> {}));
    assertTrue(skipped.getMessage().contains("skipped"), skipped.getMessage());
  }

  private static ServiceAddress closedPort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      return new ServiceAddress("127.0.0.1", socket.getLocalPort());
    }
  }
}
