package io.pyhudi.hive.scan;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.protocol.PruneRequest;
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
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How many rows a table has, as the pruning service counts them; asked once for each instant. */
public final class TableRows {
  private static final Logger LOG = LoggerFactory.getLogger(TableRows.class);
  private static final int ENTRIES = 256;
  private static final TableRows UNKNOWN = new TableRows(-1, false, null);

  /** Its failures are not those of scans, which go on asking as if nothing had been counted. */
  private static final PruningClient CLIENT = new PruningClient();

  private static final Map<List<Object>, TableRows> KNOWN =
      new LinkedHashMap<List<Object>, TableRows>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, TableRows> eldest) {
          return size() > ENTRIES;
        }
      };

  private final long rows;
  private final boolean exact;

  /** When to ask again, by System.nanoTime; null: not for this instant. */
  private final Long againNanos;

  private TableRows(long rows, boolean exact, Long againNanos) {
    this.rows = rows;
    this.exact = exact;
    this.againNanos = againNanos;
  }

  /**
   * The rows as of now, or unknown; never fails. A service that does not answer costs the time-out
   * once, and is then left alone for the pause of its circuit breaker.
   */
  public static TableRows of(Configuration conf, Path basePath, PruningSettings settings) {
    if (!settings.enabled()) {
      return UNKNOWN;
    }
    try {
      HudiTable table = HudiTable.open(conf, basePath);
      List<Object> key =
          Arrays.asList(
              table.basePath(), table.newestInstant(), settings.view(), settings.addresses());
      synchronized (KNOWN) {
        TableRows known = KNOWN.get(key);
        if (known != null && !known.isOld()) {
          return known;
        }
      }
      TableRows counted = counted(table, settings);
      synchronized (KNOWN) {
        KNOWN.put(key, counted);
      }
      return counted;
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: its rows are not known", basePath, e);
      return UNKNOWN;
    }
  }

  private static TableRows counted(HudiTable table, PruningSettings settings) {
    try {
      return asked(table, settings);
    } catch (PruningException e) {
      LOG.info("{}: its rows are not known: {}", table.basePath(), e.getMessage());
      long pause = TimeUnit.MILLISECONDS.toNanos(settings.breakerMillis());
      return new TableRows(-1, false, System.nanoTime() + pause);
    }
  }

  private boolean isOld() {
    return againNanos != null && System.nanoTime() - againNanos >= 0;
  }

  private static TableRows asked(HudiTable table, PruningSettings settings)
      throws PruningException {
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
    request.setCountRows(true);
    PruningClient.Limits limits =
        new PruningClient.Limits(
            settings.timeoutMillis(), settings.maxResponseBytes(), settings.breakerMillis());
    PruneCounts counts =
        CLIENT.prune(request, settings.addresses(), settings.credentials(), limits).getCounts();
    return counts != null && counts.isSetRowsKept()
        ? new TableRows(counts.getRowsKept(), counts.isRowsAreExact(), null)
        : UNKNOWN;
  }

  public boolean isKnown() {
    return rows >= 0;
  }

  /** Whether a scan of the table gives exactly {@link #rows}; they are an upper bound otherwise. */
  public boolean isExact() {
    return isKnown() && exact;
  }

  public long rows() {
    return rows;
  }
}
