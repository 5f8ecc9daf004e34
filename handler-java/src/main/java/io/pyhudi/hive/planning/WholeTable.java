package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.TruthValue;
import io.pyhudi.hive.protocol.pruningConstants;
import io.pyhudi.hive.table.HudiTable;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the pruning service says of whole tables, for Hive's planner; asked once for each state of a
 * table.
 *
 * <p>A service that does not answer costs the time-out once, and is then left alone for the pause
 * of its circuit breaker.
 *
 * @param <T> what is made of an answer
 */
final class WholeTable<T> {
  private static final Logger LOG = LoggerFactory.getLogger(WholeTable.class);
  private static final int ENTRIES = 256;

  /** Its failures are not those of scans, which go on asking as if nothing had been asked. */
  private static final PruningClient CLIENT = new PruningClient();

  private final T unknown;
  private final Consumer<PruneRequest> question;
  private final Function<PruneResponse, T> reader;

  private final Map<List<Object>, Known<T>> known =
      new LinkedHashMap<List<Object>, Known<T>>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, Known<T>> eldest) {
          return size() > ENTRIES;
        }
      };

  /**
   * @param unknown where there is no answer
   * @param question what a request asks beside the files
   */
  WholeTable(T unknown, Consumer<PruneRequest> question, Function<PruneResponse, T> reader) {
    this.unknown = unknown;
    this.question = question;
    this.reader = reader;
  }

  private static final class Known<T> {
    private final T value;

    /** When to ask again, by System.nanoTime; null: not for this state. */
    private final Long againNanos;

    Known(T value, Long againNanos) {
      this.value = value;
      this.againNanos = againNanos;
    }

    boolean isOld() {
      return againNanos != null && System.nanoTime() - againNanos >= 0;
    }
  }

  /** What is said of the table as of now; never fails. */
  T of(Configuration conf, Path basePath, PruningSettings settings) {
    if (!settings.enabled()) {
      return unknown;
    }
    try {
      return of(HudiTable.open(conf, basePath), settings);
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: nothing is known of it for planning", basePath, e);
      return unknown;
    }
  }

  /** What is said of the table; never fails. */
  T of(HudiTable table, PruningSettings settings) {
    try {
      List<Object> key =
          Arrays.asList(
              table.basePath(), table.completedInstants(), settings.view(), settings.addresses());
      synchronized (known) {
        Known<T> found = known.get(key);
        if (found != null && !found.isOld()) {
          return found.value;
        }
      }
      Known<T> asked = asked(table, settings);
      synchronized (known) {
        known.put(key, asked);
      }
      return asked.value;
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: nothing is known of it for planning", table.basePath(), e);
      return unknown;
    }
  }

  private Known<T> asked(HudiTable table, PruningSettings settings) {
    try {
      PruningClient.Limits limits =
          new PruningClient.Limits(
              settings.timeoutMillis(), settings.maxResponseBytes(), settings.breakerMillis());
      PruneResponse answer =
          CLIENT.prune(
              request(table, settings), settings.addresses(), settings.credentials(), limits);
      return new Known<>(reader.apply(answer), null);
    } catch (PruningException e) {
      LOG.info("{}: nothing is known of it for planning: {}", table.basePath(), e.getMessage());
      long pause = TimeUnit.MILLISECONDS.toNanos(settings.breakerMillis());
      return new Known<>(unknown, System.nanoTime() + pause);
    }
  }

  private PruneRequest request(HudiTable table, PruningSettings settings) {
    Node everything = new Node(NodeKind.CONSTANT);
    everything.setTruth(TruthValue.YES);
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION,
            UUID.randomUUID().toString(),
            table.basePath().toString(),
            Collections.singletonList(everything),
            settings.view());
    request.setNewestInstant(table.newestInstant());
    question.accept(request);
    return request;
  }
}
