package io.pyhudi.hive.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.client.AnswerCache.Question;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.TruthValue;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class AnswerCacheTest {
  private static final List<ServiceAddress> SERVICES = ServiceAddress.parseList("a:1,b:1");
  private static final byte[] STATE = {1, 2, 3};
  private static final long AGE_MS = 1000;

  private long nanos;
  private final AnswerCache cache = new AnswerCache(() -> nanos);

  private static PruneRequest request(String id) {
    Node root = new Node(NodeKind.CONSTANT).setTruth(TruthValue.YES_NO);
    return new PruneRequest(1, id, "/t", Collections.singletonList(root), TableView.SNAPSHOT)
        .setSemantics(new Semantics().setZone("UTC"))
        .setNewestInstant("20260101000000000");
  }

  private static Question question(PruneRequest request) {
    return Question.of(request, STATE, SERVICES, Credentials.NONE, 1000);
  }

  private static PruneResponse answer(String message) {
    return new PruneResponse(1, "the first query", "/t", PruneStatus.OK).setMessage(message);
  }

  private PruneResponse get(PruneRequest request) {
    return cache.get(question(request), request, AGE_MS);
  }

  @Test
  void anEqualQuestionOfAnotherQueryGetsTheAnswerUnderItsOwnId() {
    cache.put(question(request("the first query")), answer("x"));
    PruneResponse found = get(request("the second query"));
    assertEquals(answer("x").setRequestId("the second query"), found);
  }

  @Test
  void aReaderCannotChangeTheAnswer() {
    cache.put(question(request("q")), answer("x"));
    get(request("q")).setMessage("changed");
    assertEquals("x", get(request("q")).getMessage());
  }

  @Test
  void whateverTheAnswerDependsOnMakesAnotherQuestion() {
    cache.put(question(request("q")), answer("x"));
    Node other = new Node(NodeKind.CONSTANT).setTruth(TruthValue.YES);
    List<UnaryOperator<PruneRequest>> changes =
        Arrays.asList(
            request -> request.setBasePath("/other"),
            request -> request.setFilter(Collections.singletonList(other)),
            request -> request.setView(TableView.READ_OPTIMIZED),
            request -> request.setSemantics(new Semantics().setZone("Europe/Oslo")),
            request -> request.setAsOfInstant("20260101000000000"),
            request -> request.setNewestInstant("20260102000000000"),
            request -> request.setCountRows(true),
            request -> request.setDescribeColumns(true),
            request -> request.setListKept(true),
            request -> request.setSelectRows(true),
            request -> request.setProtocolVersion(2));
    for (UnaryOperator<PruneRequest> change : changes) {
      PruneRequest changed = change.apply(request("q"));
      assertNull(get(changed), changed::toString);
    }
    PruneRequest same = request("q");
    Credentials others = new Credentials("", "", "", "/token");
    for (Question question :
        Arrays.asList(
            Question.of(same, new byte[] {1, 2, 4}, SERVICES, Credentials.NONE, 1000),
            Question.of(same, STATE, SERVICES.subList(0, 1), Credentials.NONE, 1000),
            Question.of(same, STATE, SERVICES, others, 1000),
            Question.of(same, STATE, SERVICES, Credentials.NONE, 999))) {
      assertNull(cache.get(question, same, AGE_MS));
    }
    assertNotNull(get(same));
  }

  @Test
  void anAnswerIsUsedForALimitedTime() {
    cache.put(question(request("q")), answer("x"));
    nanos += TimeUnit.MILLISECONDS.toNanos(AGE_MS) - 1;
    assertNotNull(get(request("q")));
    assertNull(cache.get(question(request("q")), request("q"), AGE_MS / 2));
    nanos += 1;
    assertNull(get(request("q")));
  }

  @Test
  void theEntriesAreLimited() {
    for (int i = 0; i <= AnswerCache.ENTRIES; i++) {
      if (i == AnswerCache.ENTRIES) {
        assertNotNull(get(request("q").setBasePath("/0")));
      }
      cache.put(question(request("q").setBasePath("/" + i)), answer("x"));
    }
    assertNull(get(request("q").setBasePath("/1")), "the one that was not used for longest");
    assertNotNull(get(request("q").setBasePath("/0")));
    assertNotNull(get(request("q").setBasePath("/" + AnswerCache.ENTRIES)));
  }

  @Test
  void theBytesOfAnswersAndQuestionsAreLimited() {
    String large = String.join("", Collections.nCopies(AnswerCache.BYTES / 20, "x"));
    for (int i = 0; i < 50; i++) {
      PruneRequest request = request("q").setBasePath("/" + i);
      if (i % 2 == 0) {
        cache.put(question(request), answer(large));
      } else {
        cache.put(question(request.setSemantics(new Semantics().setZone(large))), answer("x"));
      }
      assertTrue(cache.size() <= AnswerCache.BYTES);
    }
    assertTrue(cache.size() > AnswerCache.BYTES * 9L / 10);
    assertNotNull(get(request("q").setBasePath("/48")));
  }

  @Test
  void theSizeIsThatOfTheLastAnswerToAQuestion() {
    cache.put(question(request("q")), answer("x"));
    long once = cache.size();
    for (int i = 0; i < 9; i++) {
      cache.put(question(request("q")), answer("y"));
    }
    assertEquals(once, cache.size());
    assertEquals("y", get(request("q")).getMessage());
  }

  @Test
  void anAnswerThatWouldReplaceManyOthersIsNotKept() {
    cache.put(question(request("q")), answer("x"));
    String huge = String.join("", Collections.nCopies(AnswerCache.BYTES / 8, "x"));
    cache.put(question(request("q").setBasePath("/huge")), answer(huge));
    assertNull(get(request("q").setBasePath("/huge")));
    assertNotNull(get(request("q")));
  }
}
