package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruneRequests;
import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.TruthValue;
import io.pyhudi.hive.table.HudiTable;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Caches what the pruning service reports about whole tables, for Hive's planner. It sends one
 * request for each state of a table.
 *
 * <p>What a service reports of a newer state, because the table has changed since the query opened
 * it, serves this query only.
 *
 * <p>A service that does not answer costs the time-out once. The cache then sends no request for
 * the pause of its circuit breaker.
 *
 * @param <T> the type of the cached value
 */
final class TableMetadataCache<T> {
  private static final Logger LOG = LoggerFactory.getLogger(TableMetadataCache.class);
  private static final int ENTRIES = 256;

  /** A client of its own, so that its failures do not open the circuit breaker of scans. */
  private static final PruningClient CLIENT = new PruningClient();

  private final T unknown;
  private final Consumer<PruneRequest> customizer;
  private final Function<PruneResponse, T> reader;

  private final Map<List<Object>, CachedValue<T>> entries =
      new LinkedHashMap<List<Object>, CachedValue<T>>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, CachedValue<T>> eldest) {
          return size() > ENTRIES;
        }
      };

  /**
   * @param unknown the value where the service does not answer
   * @param customizer sets which metadata a request asks for
   */
  TableMetadataCache(
      T unknown, Consumer<PruneRequest> customizer, Function<PruneResponse, T> reader) {
    this.unknown = unknown;
    this.customizer = customizer;
    this.reader = reader;
  }

  private static final class CachedValue<T> {
    private final T value;

    /** When to send the next request, by System.nanoTime; null if never for this state. */
    private final Long retryNanos;

    CachedValue(T value, Long retryNanos) {
      this.value = value;
      this.retryNanos = retryNanos;
    }

    boolean isExpired() {
      return retryNanos != null && System.nanoTime() - retryNanos >= 0;
    }
  }

  /** Returns the value for the table in the state that the settings ask for. Never fails. */
  T of(Configuration conf, Path basePath, PruningSettings settings) {
    if (!settings.enabled()) {
      return unknown;
    }
    try {
      return of(HudiTable.ofQuery(conf, basePath, settings), settings);
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: no metadata for the planner", basePath, e);
      return unknown;
    }
  }

  /** Returns the value for the table. Never fails. */
  T of(HudiTable table, PruningSettings settings) {
    if (table.changes() != null) {
      return unknown;
    }
    try {
      List<Object> key =
          Arrays.asList(table.basePath(), table.stateKey(), settings.view(), settings.addresses());
      synchronized (entries) {
        CachedValue<T> found = entries.get(key);
        if (found != null && !found.isExpired()) {
          return found.value;
        }
      }
      CachedValue<T> loaded = load(table, settings);
      synchronized (entries) {
        entries.put(key, loaded);
      }
      return loaded.value;
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: no metadata for the planner", table.basePath(), e);
      return unknown;
    }
  }

  private CachedValue<T> load(HudiTable table, PruningSettings settings) {
    try {
      PruneResponse response =
          PruneRequests.send(CLIENT, request(table, settings), settings, late -> {});
      boolean isOfState =
          table.asOf() != null || Objects.equals(response.getInstant(), table.newestInstant());
      return new CachedValue<>(reader.apply(response), isOfState ? null : System.nanoTime());
    } catch (PruningException e) {
      LOG.info("{}: no metadata for the planner: {}", table.basePath(), e.getMessage());
      long pause = TimeUnit.MILLISECONDS.toNanos(settings.breakerMillis());
      return new CachedValue<>(unknown, System.nanoTime() + pause);
    }
  }

  private PruneRequest request(HudiTable table, PruningSettings settings) {
    Node everything = new Node(NodeKind.CONSTANT);
    everything.setTruth(TruthValue.YES);
    PruneRequest request =
        PruneRequests.create(
            table, UUID.randomUUID().toString(), Collections.singletonList(everything), settings);
    customizer.accept(request);
    return request;
  }
}
