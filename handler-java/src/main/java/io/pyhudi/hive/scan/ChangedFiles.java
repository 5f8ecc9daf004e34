package io.pyhudi.hive.scan;

import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.table.HudiTable;
import io.pyhudi.hive.table.Slice;
import io.pyhudi.hive.table.TableListing;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hudi.common.config.RecordMergeMode;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies verdicts on the state of a table at the last commit of a range to the slices that the
 * commits of the range wrote.
 *
 * <p>A proof about a slice of the state holds for the same files only. It does not hold for log
 * files either, unless the version of a record that was written last wins: Hudi merges only what
 * the commits of the range wrote, so it shows versions that lose against an older one in the state.
 */
final class ChangedFiles {
  private static final Logger LOG = LoggerFactory.getLogger(ChangedFiles.class);

  private final HudiTable table;
  private final TableListing listing;
  private final ScanVerdict verdict;
  private final TableView view;

  ChangedFiles(HudiTable table, TableListing listing, ScanVerdict verdict, TableView view) {
    this.table = table;
    this.listing = listing;
    this.verdict = verdict;
    this.view = view;
  }

  /** Returns the slices of a partition that must be read. */
  List<Slice> keep(String partition, List<Slice> changed) {
    if (verdict.verdicts().dropsPartition(partition)) {
      return Collections.emptyList();
    }
    Set<Set<String>> excluded = excluded(partition);
    return changed.stream()
        .filter(slice -> !(isCovered(slice) && excluded.contains(files(slice))))
        .collect(Collectors.toList());
  }

  private boolean isCovered(Slice slice) {
    HoodieTableConfig config = table.metaClient().getTableConfig();
    return !slice.fileSlice().hasLogFiles()
        || config.getRecordMergeMode() == RecordMergeMode.COMMIT_TIME_ORDERING;
  }

  /** Returns the tokens of each slice of the state that no matching row is in. */
  private Set<Set<String>> excluded(String partition) {
    if (verdict.counts() == null || !listing.partitions().contains(partition)) {
      return Collections.emptySet();
    }
    try {
      List<Slice> listed =
          listing
              .slices(Collections.singletonList(partition), view)
              .getOrDefault(partition, Collections.emptyList());
      Set<Set<String>> slices = files(listed);
      slices.removeAll(files(verdict.verdicts().keep(partition, listed, Slice::tokens)));
      return slices;
    } catch (RuntimeException e) {
      LOG.warn("{}: its last state cannot be listed, nothing is pruned", table.basePath(), e);
      return Collections.emptySet();
    }
  }

  private static Set<Set<String>> files(List<Slice> slices) {
    return slices.stream().map(ChangedFiles::files).collect(Collectors.toSet());
  }

  private static Set<String> files(Slice slice) {
    return new HashSet<>(slice.tokens());
  }
}
