package io.pyhudi.presto;

import com.facebook.airlift.log.Logger;
import com.facebook.presto.common.RuntimeStats;
import com.facebook.presto.common.RuntimeUnit;
import com.facebook.presto.hudi.HudiSplit;
import com.facebook.presto.hudi.HudiTableHandle;
import com.facebook.presto.hudi.HudiTableLayoutHandle;
import com.facebook.presto.hudi.HudiTableType;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.ConnectorSplit;
import io.pyhudi.connector.DomainFilter;
import io.pyhudi.connector.ServiceSettings;
import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import io.pyhudi.hive.scan.Verdicts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Asks the service which splits of a scan are to be read. Never fails: then all of them are. */
final class SplitPruner {
  private static final Logger LOG = Logger.get(SplitPruner.class);

  private final ServiceSettings service;
  private final AtomicLong requests = new AtomicLong();

  SplitPruner(ServiceSettings service) {
    this.service = service;
  }

  /**
   * @param splits all splits of the scan
   */
  List<ConnectorSplit> keep(
      ConnectorSession session, HudiTableLayoutHandle layout, List<ConnectorSplit> splits) {
    HudiTableHandle table = layout.getTable();
    List<ConnectorSplit> kept = splits;
    Outcome outcome;
    String message = "";
    try {
      DomainFilter filter = PushedDomains.filter(layout);
      if (splits.isEmpty() || filter.isEmpty()) {
        outcome = Outcome.NO_FILTER;
      } else {
        kept = proved(session, table, filter, splits);
        outcome = Outcome.PRUNED;
      }
    } catch (PruningException e) {
      outcome = e.outcome();
      message = ": " + e.getMessage();
    } catch (RuntimeException | LinkageError e) {
      outcome = Outcome.FAILED;
      message = ": " + e;
    }
    report(session.getRuntimeStats(), outcome, splits.size(), kept.size());
    String line =
        String.format(
            "%s %s.%s %s, reads %d of %d splits%s",
            session.getQueryId(),
            table.getSchemaName(),
            table.getTableName(),
            outcome,
            kept.size(),
            splits.size(),
            message);
    if (message.isEmpty()) {
      LOG.info(line);
    } else {
      LOG.warn(line);
    }
    return kept;
  }

  private List<ConnectorSplit> proved(
      ConnectorSession session,
      HudiTableHandle table,
      DomainFilter filter,
      List<ConnectorSplit> splits)
      throws PruningException {
    boolean merges = table.getTableType() == HudiTableType.MOR;
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION,
            session.getQueryId() + "#" + requests.incrementAndGet(),
            table.getPath(),
            filter.nodes(),
            merges ? TableView.SNAPSHOT : TableView.READ_OPTIMIZED);
    request.setNewestInstant(((HudiSplit) splits.get(0)).getInstantTime());
    // Presto shows the stored number of a time, as an instant or as a wall clock of UTC.
    request.setSemantics(new Semantics().setEngine("presto").setZone("UTC"));
    Verdicts verdicts = Verdicts.of(service.ask(request));
    SplitFiles files = new SplitFiles(table.getPath(), merges);
    List<ConnectorSplit> kept = new ArrayList<>();
    for (Map.Entry<String, List<ConnectorSplit>> partition : files.byPartition(splits).entrySet()) {
      kept.addAll(verdicts.keep(partition.getKey(), partition.getValue(), files::tokens));
    }
    return kept;
  }

  /** Adds to the counters that Presto shows with the query. */
  private static void report(RuntimeStats stats, Outcome outcome, int listed, int kept) {
    stats.addMetricValue("pyhudiScans" + outcome, RuntimeUnit.NONE, 1);
    stats.addMetricValue("pyhudiSplitsListed", RuntimeUnit.NONE, listed);
    stats.addMetricValue("pyhudiSplitsDropped", RuntimeUnit.NONE, listed - kept);
  }
}
