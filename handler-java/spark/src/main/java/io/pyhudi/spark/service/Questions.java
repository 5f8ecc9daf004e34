package io.pyhudi.spark.service;

import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import io.pyhudi.hive.client.ServiceOrder;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.SparkCondition;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the session's pruning service about one relation after the other. Without an answer every
 * file is kept.
 */
public final class Questions {
  private static final Logger LOG = LoggerFactory.getLogger(Questions.class);
  private static final int MAX_RESPONSE_BYTES = 64 << 20;
  private static final long BREAKER_MILLIS = 30_000;
  private static final AtomicLong REQUESTS = new AtomicLong();

  /**
   * The kinds of failures that have been reported; a dashboard would report each again and again.
   */
  private static final Set<List<Object>> WARNED = ConcurrentHashMap.newKeySet();

  /** The tables whose stored keys were reported as ignored. */
  private static final Set<String> IGNORED = ConcurrentHashMap.newKeySet();

  private final SparkSession session;
  private final PruningConf conf;

  public Questions(SparkSession session, PruningConf conf) {
    this.session = session;
    this.conf = conf;
  }

  /**
   * Returns what is proved about the files of a table.
   *
   * @throws LacksKeysException its keys are virtual, and rows have none
   */
  public Answer ask(PruneRequest request) {
    try {
      return send(request);
    } catch (PruningException e) {
      if (e.outcome() == Outcome.LACKS_KEYS) {
        throw new LacksKeysException(e.getMessage());
      }
      return failed(request.getBasePath(), e.outcome(), e.getMessage());
    } catch (RuntimeException | LinkageError e) {
      return failed(request.getBasePath(), Outcome.FAILED, e.toString());
    }
  }

  /**
   * Returns a request for the files of a table's newest state.
   *
   * @param semantics what the condition's meaning depends on
   */
  public PruneRequest request(
      String basePath, SparkCondition condition, Semantics semantics, TableView view) {
    Node unknown = new Node(NodeKind.UNKNOWN).setText("a condition of Spark");
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION,
            session.sparkContext().applicationId() + "#" + REQUESTS.incrementAndGet(),
            basePath,
            Collections.singletonList(unknown),
            view);
    request.setSparkCondition(condition);
    request.setSemantics(semantics);
    return request;
  }

  private Answer send(PruneRequest request) throws PruningException {
    PruningClient.Limits limits =
        new PruningClient.Limits(
            conf.timeoutMillis(), MAX_RESPONSE_BYTES, BREAKER_MILLIS, PruningConf.TIMEOUT_MS);
    Credentials credentials = conf.credentials();
    List<ServiceAddress> addresses = conf.addresses();
    if (!conf.namesServices()) {
      OwnService own = OwnService.of(session);
      credentials = own.credentials();
      addresses = own.addresses();
    }
    List<ServiceAddress> ordered = ServiceOrder.TABLE.of(addresses, request.getBasePath());
    PruneResponse response = PruningClient.shared().prune(request, ordered, credentials, limits);
    if (response.isIgnoresKeys() && IGNORED.add(request.getBasePath())) {
      LOG.warn(
          "{} has virtual keys, and files with a stored _hoodie_record_key: it is NULL, and the"
              + " stored values are ignored (pyhudi virtual-keys rewrite leaves them out)",
          request.getBasePath());
    }
    return Answer.of(response);
  }

  private Answer failed(String basePath, Outcome outcome, String message) {
    Object place = conf.namesServices() ? conf.addresses() : "its own service";
    boolean isNews = WARNED.add(Arrays.asList(outcome, place));
    if (isNews && outcome != Outcome.NOTHING_PROVED) {
      LOG.warn("{}: every file is read, {}: {}", basePath, outcome, message);
    } else {
      LOG.info("{}: every file is read, {}: {}", basePath, outcome, message);
    }
    return Answer.failed(outcome);
  }
}
