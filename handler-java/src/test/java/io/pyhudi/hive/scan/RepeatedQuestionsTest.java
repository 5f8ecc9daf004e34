package io.pyhudi.hive.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pyhudi.hive.PruneRequests;
import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.TestService;
import io.pyhudi.hive.files.CountedFileSystem;
import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PartitionVerdict;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.TruthValue;
import io.pyhudi.hive.protocol.VerdictKind;
import io.pyhudi.hive.table.HudiTable;
import io.pyhudi.hive.table.TestTables;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When the answer to an earlier query's question is used again, and when the service is asked. */
class RepeatedQuestionsTest {
  private static final String FIRST = "20260101000000000";
  private static final String SECOND = "20260102000000000";

  @TempDir java.nio.file.Path directory;

  private final AtomicInteger asked = new AtomicInteger();
  private String timeoutMillis = "20000";
  private UnaryOperator<PruneResponse> change = response -> response;
  private Path path;
  private TestService service;

  @BeforeEach
  void start() throws Exception {
    path = TestTables.create(directory.resolve("t"), "day");
    TestTables.commit(path, FIRST);
    service =
        TestService.answering(
            request -> {
              asked.incrementAndGet();
              return change.apply(
                  new PruneResponse(
                          request.getProtocolVersion(),
                          request.getRequestId(),
                          request.getBasePath(),
                          PruneStatus.OK)
                      .setInstant(request.getNewestInstant())
                      .setVerdicts(
                          Collections.singletonList(
                              new PartitionVerdict("day=1", VerdictKind.DROP_PARTITION))));
            });
  }

  @AfterEach
  void stop() {
    service.close();
  }

  private HudiTable open() {
    Configuration conf = CountedFileSystem.configuration();
    conf.set("hive.query.id", TestTables.newQuery());
    return HudiTable.ofQuery(conf, path);
  }

  private AnswerSource ask(HudiTable table, String cacheMillis) throws PruningException {
    Configuration job = new Configuration(false);
    job.set(PruningSettings.ADDRESSES, service.address().toString());
    job.set(PruningSettings.TIMEOUT_MS, timeoutMillis);
    job.set(PruningSettings.CACHE_MS, cacheMillis);
    PruningSettings settings = PruningSettings.ofJob(job);
    List<Node> filter =
        Collections.singletonList(new Node(NodeKind.CONSTANT).setTruth(TruthValue.YES_NO));
    PruneRequest request = PruneRequests.create(table, TestTables.newQuery(), filter, settings);
    return RepeatedQuestions.ask(table, request, settings).source();
  }

  /** Asks in another query, and returns how many requests have reached the service. */
  private int ask() throws PruningException {
    int before = asked.get();
    AnswerSource source = ask(open(), "60000");
    int requests = asked.get() - before;
    assertEquals(requests == 0 ? AnswerSource.BY_CACHE : AnswerSource.BY_SERVICE, source);
    return requests;
  }

  private static KeptSlices noSlices(byte[] digest) {
    return new KeptSlices()
        .setTimelineDigest(digest)
        .setPartitions(Collections.emptyList())
        .setPartitionSlices(Collections.emptyList())
        .setFileIds(Collections.emptyList())
        .setBaseInstants(Collections.emptyList())
        .setHaveBaseFile(Collections.emptyList())
        .setLogFiles(Collections.emptyList())
        .setFileNames(Collections.emptyList())
        .setFileSizes(Collections.emptyList());
  }

  private java.nio.file.Path timeline(String name) {
    return directory.resolve("t/.hoodie/timeline").resolve(name);
  }

  @Test
  void theServiceIsAskedOnceForOneState() throws Exception {
    assertEquals(1, ask());
    assertEquals(0, ask());
    assertEquals(0, ask());
  }

  @Test
  void aSettingTurnsItOff() throws Exception {
    ask();
    assertEquals(AnswerSource.BY_SERVICE, ask(open(), "0"));
    assertEquals(2, asked.get());
  }

  @Test
  void aCommitARollbackAndAnArchivedInstantAreOtherStates() throws Exception {
    ask();
    TestTables.commit(path, SECOND);
    assertEquals(1, ask());
    assertEquals(0, ask());
    for (String name : Arrays.asList(".commit.requested", ".inflight", "_" + SECOND + ".commit")) {
      Files.delete(timeline(SECOND + name));
    }
    String rollback = "20260103000000000";
    for (String name : Arrays.asList(".rollback.requested", ".rollback.inflight")) {
      Files.write(timeline(rollback + name), new byte[0]);
    }
    Files.write(timeline(rollback + "_" + rollback + ".rollback"), new byte[0]);
    assertEquals(1, ask());
    assertEquals(0, ask());
    for (String name : Arrays.asList(".commit.requested", ".inflight", "_" + FIRST + ".commit")) {
      Files.delete(timeline(FIRST + name));
    }
    TestTables.commit(path, SECOND);
    assertEquals(1, ask());
  }

  @Test
  void aPendingInstantIsAnotherState() throws Exception {
    ask();
    Files.write(timeline(SECOND + ".commit.requested"), new byte[0]);
    assertEquals(1, ask());
    Files.write(timeline(SECOND + ".inflight"), new byte[0]);
    assertEquals(1, ask());
  }

  @Test
  void anInstantThatWasCompletedAgainIsAnotherState() throws Exception {
    ask();
    Files.move(
        timeline(FIRST + "_" + FIRST + ".commit"),
        timeline(FIRST + "_" + SECOND + ".commit"),
        StandardCopyOption.ATOMIC_MOVE);
    assertEquals(1, ask());
  }

  @Test
  void otherPropertiesOfTheTableAreAnotherState() throws Exception {
    ask();
    Files.write(
        directory.resolve("t/.hoodie/hoodie.properties"),
        "\nhoodie.table.ordering.fields=v\n".getBytes("UTF-8"),
        StandardOpenOption.APPEND);
    assertEquals(1, ask());
  }

  @Test
  void anAnswerAboutANewerStateIsUsedOnce() throws Exception {
    change = response -> response.setInstant(SECOND);
    assertEquals(1, ask());
    assertEquals(1, ask());
    change = response -> response.setKept(noSlices(new byte[32]));
    assertEquals(1, ask());
    assertEquals(1, ask());
  }

  @Test
  void aListOfTheQuerysStateIsKept() throws Exception {
    KeptSlices none = noSlices(open().timelineDigest());
    change = response -> response.setKept(none);
    assertEquals(1, ask());
    assertEquals(0, ask());
  }

  @Test
  void anAnswerThatCouldProveMoreIsNotKept() throws Exception {
    change = response -> response.setMessage("column v has no statistics");
    assertEquals(1, ask());
    assertEquals(1, ask());
  }

  @Test
  void failuresAreNotKept() throws Exception {
    PartitionVerdict verdict = new PartitionVerdict("day=1", VerdictKind.DROP_PARTITION);
    List<UnaryOperator<PruneResponse>> failures =
        Arrays.asList(
            response -> response.setStatus(PruneStatus.FAILED),
            response -> response.setStatus(PruneStatus.NOT_PRUNED),
            response -> response.setBasePath("/other"),
            response -> response.setVerdicts(Arrays.asList(verdict, verdict)));
    for (UnaryOperator<PruneResponse> failure : failures) {
      change = failure;
      assertThrows(PruningException.class, this::ask);
    }
    change = response -> response;
    assertEquals(1, ask());
    assertEquals(0, ask());
  }

  @Test
  void anAnswerThatComesLateIsKeptForTheNextQuestion() throws Exception {
    CountDownLatch ready = new CountDownLatch(1);
    change = response -> afterwards(ready, response);
    timeoutMillis = "400";
    assertThrows(PruningException.class, this::ask);
    ready.countDown();
    AnswerSource source = AnswerSource.BY_SERVICE;
    for (int i = 0; i < 1000 && source == AnswerSource.BY_SERVICE; i++) {
      Thread.sleep(10);
      change = response -> response.setStatus(PruneStatus.FAILED);
      try {
        source = ask(open(), "60000");
      } catch (PruningException e) {
        // It is not there yet.
      }
    }
    assertEquals(AnswerSource.BY_CACHE, source);
  }

  @Test
  void aLateAnswerThatContradictsItselfIsNotKept() throws Exception {
    PartitionVerdict verdict = new PartitionVerdict("day=1", VerdictKind.DROP_PARTITION);
    CountDownLatch ready = new CountDownLatch(1);
    change = response -> afterwards(ready, response).setVerdicts(Arrays.asList(verdict, verdict));
    timeoutMillis = "400";
    assertThrows(PruningException.class, this::ask);
    ready.countDown();
    Thread.sleep(500);
    change = response -> response;
    assertEquals(1, ask());
  }

  private static PruneResponse afterwards(CountDownLatch ready, PruneResponse response) {
    try {
      ready.await(20, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return response;
  }
}
