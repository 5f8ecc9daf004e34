package io.pyhudi.hive.scan;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.planning.GeneratedRows;
import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.table.Changes;
import io.pyhudi.hive.table.HudiTable;
import io.pyhudi.hive.table.ServiceListing;
import io.pyhudi.hive.table.Slice;
import io.pyhudi.hive.table.TableListing;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.mapred.JobConf;

/** The file slices that one scan of a table has to read. */
public final class TableScan {
  /** Marks the job of a scan whose rows are read for the plan of a query. */
  public static final String WHILE_PLANNED = "pyhudi.while.planned";

  private final HudiTable table;
  private final List<Slice> slices;
  private final ScanReport report;
  private final boolean ofWholeTable;
  private final GeneratedRows generated;
  private final SelectedFiles rows;

  private TableScan(
      HudiTable table,
      List<Slice> slices,
      ScanReport report,
      boolean ofWholeTable,
      GeneratedRows generated,
      SelectedFiles rows) {
    this.table = table;
    this.slices = slices;
    this.report = report;
    this.ofWholeTable = ofWholeTable;
    this.generated = generated;
    this.rows = rows;
  }

  /**
   * Plans a scan: calls the pruning service, and reads the files that it lists. If it lists none,
   * or those of another state of the table, Hudi lists the partitions that the service did not
   * exclude, without the files that it proved to hold no matching row.
   *
   * @param locations the table's base path, or partitions of it
   */
  public static TableScan plan(
      JobConf job, Path basePath, List<Path> locations, PruningSettings settings)
      throws IOException {
    HudiTable table = HudiTable.ofQuery(job, basePath, settings);
    ScanVerdict verdict = new ScanPruner(job, settings).prune(table, locations);
    TableScan scan = prune(table, locations, verdict, settings);
    String name = job.get(hive_metastoreConstants.META_TABLE_NAME);
    ScanLog.write(job, name, settings, table, verdict, scan.report);
    return scan;
  }

  /** Describes the result of {@link #plan}. It logs and counts nothing. */
  public static String preview(
      JobConf job, Path basePath, List<Path> locations, PruningSettings settings)
      throws IOException {
    MetadataView view = MetadataView.of(basePath);
    if (view != null) {
      return MetadataScan.preview(job, view, settings);
    }
    HudiTable table = HudiTable.ofQuery(job, basePath, settings);
    ScanVerdict verdict = new ScanPruner(job, settings).prune(table, locations);
    String found = prune(table, locations, verdict, settings).report.text();
    if (table.changes() != null) {
      found += ", " + table.stateText();
    } else if (table.asOf() != null) {
      found += ", as of " + table.asOf();
    }
    return verdict.message() == null ? found : found + "; " + verdict.message();
  }

  private static TableScan prune(
      HudiTable table, List<Path> locations, ScanVerdict verdict, PruningSettings settings)
      throws IOException {
    if (verdict.outcome() == Outcome.ANSWERED) {
      return answered(table, verdict);
    }
    if (table.changes() != null) {
      return ofChanges(table, locations, verdict, settings);
    }
    boolean wholeTable = table.isScannedWhole(locations);
    SelectedFiles rows = rows(table, verdict, settings);
    KeptSlices kept = wholeTable && verdict.counts() != null ? verdict.kept() : null;
    if (kept != null) {
      Optional<List<Slice>> slices = ServiceListing.slices(table, kept, settings.view());
      if (slices.isPresent()) {
        if (verdict.generated() != null) {
          return answered(table, verdict);
        }
        return new TableScan(
            table, slices.get(), report(verdict, slices.get(), rows), true, null, rows);
      }
    }
    Tally tally = new Tally();
    try (TableListing listing = table.list(locations)) {
      List<String> partitions = listing.partitions();
      if (wholeTable) {
        tally.unlisted = partitions.removeIf(verdict.verdicts()::dropsPartition);
      }
      Map<String, List<Slice>> listed = listing.slices(partitions, settings.view());
      listed.forEach(
          (partition, slices) ->
              tally.add(slices, verdict.verdicts().keep(partition, slices, Slice::tokens)));
    }
    Listing listing = kept == null ? Listing.BY_HUDI : Listing.BY_HUDI_INSTEAD;
    return new TableScan(
        table, tally.kept, tally.report(verdict, listing, rows), wholeTable, null, rows);
  }

  private static TableScan answered(HudiTable table, ScanVerdict verdict) {
    return new TableScan(
        table,
        Collections.emptyList(),
        answeredReport(verdict),
        true,
        verdict.generated(),
        SelectedFiles.none());
  }

  private static TableScan ofChanges(
      HudiTable table, List<Path> locations, ScanVerdict verdict, PruningSettings settings)
      throws IOException {
    Tally tally = new Tally();
    Changes changes = table.changes();
    boolean wholeTable = table.isScannedWhole(locations);
    try (TableListing listing = table.list(locations)) {
      Map<String, List<Slice>> changed = changes.slices(settings.view());
      if (!wholeTable) {
        changed.keySet().retainAll(listing.partitions());
      }
      ChangedFiles proved = new ChangedFiles(table, listing, verdict, settings.view());
      changed.forEach((partition, slices) -> tally.add(slices, proved.keep(partition, slices)));
      changes.require(table, tally.kept, listing.files(changed.keySet()));
    }
    SelectedFiles rows = SelectedFiles.none();
    return new TableScan(
        table, tally.kept, tally.report(verdict, Listing.BY_HUDI, rows), wholeTable, null, rows);
  }

  /** Returns which rows the scan reads; Hudi's readers and other settings read all rows. */
  private static SelectedFiles rows(HudiTable table, ScanVerdict verdict, PruningSettings settings)
      throws IOException {
    // The keys that log files name are looked up in the base file.
    boolean joins = table.isMergeOnRead() && !table.hasVirtualKeys();
    boolean isOff = !settings.rows() || !joins && verdict.rows().isEmpty();
    if (isOff || table.hasSchemaHistory()) {
      return SelectedFiles.none();
    }
    return joins ? verdict.rows().joiningSlices(settings.mergedRowsBytes()) : verdict.rows();
  }

  /** Reports a scan whose files the service listed. */
  private static ScanReport report(ScanVerdict verdict, List<Slice> slices, SelectedFiles rows) {
    PruneCounts counts = verdict.counts();
    Tally tally = new Tally();
    tally.files = counts.getFilesConsidered();
    tally.bytes = counts.getBytesConsidered();
    tally.kept.addAll(slices);
    return tally.report(verdict, Listing.BY_SERVICE, rows);
  }

  private static ScanReport answeredReport(ScanVerdict verdict) {
    GeneratedRows rows = verdict.generated();
    return new ScanReport(
        Outcome.ANSWERED,
        Listing.NONE,
        verdict.source(),
        rows.files(),
        0,
        rows.bytes(),
        0,
        Collections.emptyMap(),
        RowReport.none(),
        verdict.elapsedMicros());
  }

  /** Returns whether the table is scanned by its base path, and not by paths of its partitions. */
  boolean isOfWholeTable() {
    return ofWholeTable;
  }

  public HudiTable table() {
    return table;
  }

  /** Returns the rows that represent all that the query needs, or null if slices are read. */
  GeneratedRows generated() {
    return generated;
  }

  /** Returns which rows of the slices are read. */
  SelectedFiles rows() {
    return rows;
  }

  public List<Slice> slices() {
    return slices;
  }

  public ScanReport report() {
    return report;
  }

  /** Counts files and bytes partition by partition. */
  private static final class Tally {
    private final List<Slice> kept = new ArrayList<>();
    private boolean unlisted;
    private long files;
    private long bytes;

    void add(List<Slice> listed, List<Slice> keep) {
      files += filesOf(listed);
      bytes += bytesOf(listed);
      kept.addAll(keep);
    }

    ScanReport report(ScanVerdict verdict, Listing listing, SelectedFiles rows) {
      PruneCounts counts = verdict.counts();
      if (unlisted && counts != null) {
        // Dropped partitions are not listed here; the service reports their size.
        files = Math.max(files, counts.getFilesConsidered());
        bytes = Math.max(bytes, counts.getBytesConsidered());
      }
      long keptFiles = filesOf(kept);
      return new ScanReport(
          verdict.outcome(),
          listing,
          verdict.source(),
          files,
          keptFiles,
          bytes,
          bytesOf(kept),
          droppedBy(counts, files - keptFiles),
          RowReport.of(rows, kept),
          verdict.elapsedMicros());
    }

    /**
     * Returns the service's counts for each index, if they cover exactly the files dropped here.
     */
    private static Map<String, Long> droppedBy(PruneCounts counts, long dropped) {
      return counts != null && counts.isSetFilesDroppedBy() && counts.getFilesDropped() == dropped
          ? counts.getFilesDroppedBy()
          : Collections.emptyMap();
    }

    private static long filesOf(List<Slice> slices) {
      return slices.stream().mapToLong(slice -> slice.tokens().size()).sum();
    }

    private static long bytesOf(List<Slice> slices) {
      return slices.stream().mapToLong(Slice::bytes).sum();
    }
  }
}
