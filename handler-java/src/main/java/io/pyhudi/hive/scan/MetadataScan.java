package io.pyhudi.hive.scan;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.metadata.FileRights;
import io.pyhudi.hive.metadata.MetadataRequests;
import io.pyhudi.hive.metadata.MetadataRows;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.metadata.ViewGrants;
import io.pyhudi.hive.predicate.FilterEncoder;
import io.pyhudi.hive.predicate.HiveSemantics;
import io.pyhudi.hive.predicate.ScanFilter;
import io.pyhudi.hive.protocol.Node;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Scans a metadata view: the pruning service sends the rows that a filter may ask for. */
public final class MetadataScan {
  private static final Logger LOG = LoggerFactory.getLogger(MetadataScan.class);

  private final MetadataView view;
  private final MetadataRows rows;
  private final Outcome outcome;

  private MetadataScan(MetadataView view, MetadataRows rows, Outcome outcome) {
    this.view = view;
    this.rows = rows;
    this.outcome = outcome;
  }

  /**
   * Returns the split of a scan, which holds its rows.
   *
   * @throws IOException if the user may not read the table, no service gives the rows, or those of
   *     an earlier state are wanted
   */
  public static HudiSplit split(JobConf job, MetadataView view, PruningSettings settings)
      throws IOException {
    MetadataScan scan = of(job, view, settings);
    String name = job.get(hive_metastoreConstants.META_TABLE_NAME);
    ScanLog.write(job, name, settings, view, scan.outcome, scan.rows);
    return HudiSplit.metadata(view, scan.rows);
  }

  /** Describes the result of {@link #split}. It logs and counts nothing. */
  static String preview(JobConf job, MetadataView view, PruningSettings settings)
      throws IOException {
    MetadataScan scan = of(job, view, settings);
    return String.format(
        "%s, %s, the service sends %d of %d rows",
        scan.outcome, scan.view, scan.rows.size(), scan.rows.considered());
  }

  private static MetadataScan of(JobConf job, MetadataView view, PruningSettings settings)
      throws IOException {
    if (!settings.asOf().isEmpty()) {
      throw new IOException(
          view + ": it describes the newest state only, not that of " + settings.asOf());
    }
    if (job.get(ViewGrants.checkedProperty(view)) == null) {
      // Only the storage handler checks what HiveServer2 grants its users.
      throw new IOException(view + ": only a table with the storage handler reads it");
    }
    FileRights rights = new FileRights(job, view.basePath());
    rights.requireTable();
    List<Node> all = MetadataRequests.everything();
    List<Node> filter = settings.enabled() ? filter(job, view) : all;
    Outcome outcome = settings.enabled() ? Outcome.PRUNED : Outcome.DISABLED;
    if (filter == null) {
      outcome = Outcome.NO_FILTER;
    } else if (FilterEncoder.isUnknown(filter)) {
      outcome = Outcome.NOT_EXPRESSIBLE;
    }
    List<Node> sent = outcome == Outcome.PRUNED ? filter : all;
    MetadataRows rows =
        MetadataRequests.rows(
            view, ScanPruner.newRequestId(job), sent, HiveSemantics.of(job), settings);
    rights.requirePartitions(rows.partitions());
    return new MetadataScan(view, rows, outcome);
  }

  /** Returns the nodes of the scan's filter; null if there is none that can be trusted. */
  private static List<Node> filter(JobConf job, MetadataView view) {
    try {
      ExprNodeGenericFuncDesc filter =
          ScanFilter.of(job, Collections.singletonList(view.location()));
      return filter == null ? null : FilterEncoder.encode(filter, job, Collections.emptySet());
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: the filter cannot be sent, all rows are", view, e);
      return null;
    }
  }
}
