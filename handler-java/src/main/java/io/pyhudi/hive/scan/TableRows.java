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
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How many rows a table has, as the pruning service counts them; asked once for each instant. */
public final class TableRows {
  private static final Logger LOG = LoggerFactory.getLogger(TableRows.class);
  private static final int ENTRIES = 256;
  private static final TableRows UNKNOWN = new TableRows(-1, false);

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

  private TableRows(long rows, boolean exact) {
    this.rows = rows;
    this.exact = exact;
  }

  /** The rows as of now, or unknown; never fails. */
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
        if (known != null) {
          return known;
        }
      }
      TableRows counted = counted(table, settings);
      synchronized (KNOWN) {
        KNOWN.put(key, counted);
      }
      return counted;
    } catch (PruningException e) {
      LOG.info("{}: its rows are not known: {}", basePath, e.getMessage());
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: its rows are not known", basePath, e);
    }
    return UNKNOWN;
  }

  private static TableRows counted(HudiTable table, PruningSettings settings)
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
        PruningClient.shared()
            .prune(request, settings.addresses(), settings.credentials(), limits)
            .getCounts();
    return counts != null && counts.isSetRowsKept()
        ? new TableRows(counts.getRowsKept(), counts.isRowsAreExact())
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
