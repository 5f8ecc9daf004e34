package io.pyhudi.hive;

import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.predicate.FilterEncoder;
import io.pyhudi.hive.predicate.HiveSemantics;
import io.pyhudi.hive.predicate.ScanFilter;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.pruningConstants;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the service, while a query is compiled, about the tables that will be asked about. It loads
 * a table that it does not know while Hive plans, so that less is left to do within the time limit
 * of the question. Nobody waits for this, and nothing depends on it.
 */
final class Announcements {
  private static final Logger LOG = LoggerFactory.getLogger(Announcements.class);
  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final int ENTRIES = 256;

  private static final Map<String, Long> SENT =
      new LinkedHashMap<String, Long>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
          return size() > ENTRIES;
        }
      };

  private Announcements() {}

  /** Announces a question about a whole table. Never fails. */
  static void ofTable(Path basePath, PruningSettings settings) {
    try {
      send(basePath, "", FilterEncoder.ofAllRows(), settings, new Semantics());
    } catch (PruningException | RuntimeException | LinkageError e) {
      LOG.debug("{}: not announced", basePath, e);
    }
  }

  /**
   * Announces a question with a filter. Never fails.
   *
   * @param job has the table's properties and columns, as Hive sets them for a predicate handler
   */
  static void ofFilter(JobConf job, ExprNodeDesc filter) {
    String location = job.get(hive_metastoreConstants.META_TABLE_LOCATION);
    if (location == null) {
      return;
    }
    try {
      List<Node> nodes = FilterEncoder.encode(filter, job, ScanFilter.metastoreColumns(job));
      if (!FilterEncoder.isUnknown(nodes)) {
        String format = job.get(hive_metastoreConstants.FILE_INPUT_FORMAT);
        PruningSettings settings = PruningSettings.ofJob(job).asReadBy(format);
        send(new Path(location), filter.getExprString(), nodes, settings, HiveSemantics.of(job));
      }
    } catch (PruningException | RuntimeException | LinkageError e) {
      LOG.debug("{}: not announced", location, e);
    }
  }

  private static void send(
      Path path, String filter, List<Node> nodes, PruningSettings settings, Semantics semantics)
      throws PruningException {
    // Of an earlier state the question will name the instant, which only the timeline gives.
    boolean isNewest = settings.asOf().isEmpty() && MetadataView.of(path) == null;
    if (!settings.enabled() || !isNewest || !isDue(path + "\n" + filter)) {
      return;
    }
    String basePath = path.toString();
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION,
            UUID.randomUUID().toString(),
            basePath,
            nodes,
            settings.view());
    request.setSemantics(semantics);
    Services services = Services.of(settings, basePath, 0);
    PruningClient.shared()
        .announce(
            request, services.addresses(), services.credentials(), PruneRequests.limits(settings));
  }

  /** Returns whether the same has not been sent in the last seconds. */
  private static boolean isDue(String question) {
    long now = System.nanoTime();
    synchronized (SENT) {
      Long sent = SENT.get(question);
      if (sent != null && now - sent < AGAIN_NANOS) {
        return false;
      }
      SENT.remove(question);
      SENT.put(question, now);
      return true;
    }
  }
}
