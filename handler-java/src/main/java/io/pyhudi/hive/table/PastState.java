package io.pyhudi.hive.table;

import io.pyhudi.hive.protocol.TableView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieCommitMetadata;
import org.apache.hudi.common.model.HoodieFileGroupId;
import org.apache.hudi.common.model.HoodieReplaceCommitMetadata;
import org.apache.hudi.common.model.HoodieWriteStat;
import org.apache.hudi.common.table.timeline.HoodieActiveTimeline;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.HoodieTimeline;
import org.apache.hudi.common.table.timeline.TimelineUtils;
import org.apache.hudi.common.util.CompactionUtils;
import org.apache.hudi.common.util.Option;

/**
 * Checks that an earlier state of a table still exists as a whole.
 *
 * <p>The cleaner records up to which commit it keeps everything, if it counts commits. If it counts
 * versions of files it does not. The commits after the state tell, then: each names the slices that
 * it wrote on or replaced, and those existed in the state.
 */
final class PastState {
  private final HudiTable state;
  private final HoodieTimeline completed;

  /** The slices that must exist, by their base instants; empty: whichever. */
  private final Map<HoodieFileGroupId, String> required = new HashMap<>();

  private final Set<HoodieFileGroupId> newer = new HashSet<>();

  private PastState(HudiTable state) {
    this.state = state;
    this.completed = state.completedTimeline();
  }

  /**
   * @throws StateException if the timeline does not reach back to the state, an older commit is
   *     still pending, or the cleaner has deleted files of the state
   */
  static void check(HudiTable state) {
    new PastState(state).check();
  }

  private void check() {
    requireCommit();
    try {
      TimelineUtils.validateTimestampAsOf(state.metaClient(), state.asOf());
    } catch (RuntimeException e) {
      throw problem(e.getMessage(), e);
    }
    HoodieActiveTimeline active = state.metaClient().getActiveTimeline();
    if (!active.getCleanerTimeline().filterCompletedInstants().empty()) {
      requireSlices();
    }
  }

  private void requireCommit() {
    Option<HoodieInstant> first = completed.getFirstNonSavepointCommit();
    boolean isKnown =
        completed.containsInstant(state.asOf())
            || (first.isPresent() && first.get().requestedTime().compareTo(state.asOf()) <= 0);
    if (!isKnown) {
      String start = first.isPresent() ? "begins with " + first.get().requestedTime() : "is empty";
      throw problem("its active timeline " + start, null);
    }
  }

  private void requireSlices() {
    try {
      for (HoodieInstant commit : completed.findInstantsAfter(state.asOf()).getInstants()) {
        collect(commit);
      }
      Set<String> partitions = new HashSet<>();
      required.keySet().forEach(group -> partitions.add(group.getPartitionPath()));
      Map<HoodieFileGroupId, FileSlice> listed = list(partitions);
      Set<HoodieFileGroupId> compacting = compacting();
      for (Map.Entry<HoodieFileGroupId, String> slice : required.entrySet()) {
        FileSlice found = listed.get(slice.getKey());
        boolean isOlder =
            found != null && found.getBaseInstantTime().compareTo(slice.getValue()) < 0;
        if (found == null || (isOlder && !compacting.contains(slice.getKey()))) {
          throw problem("the cleaner has deleted its files, of " + slice.getKey(), null);
        }
      }
    } catch (IOException e) {
      throw problem("its later commits cannot be read: " + e.getMessage(), e);
    }
  }

  /** Collects the slices that a later commit found. */
  private void collect(HoodieInstant commit) throws IOException {
    HoodieCommitMetadata metadata = TimelineUtils.getCommitMetadata(commit, completed);
    for (HoodieWriteStat stat : metadata.getWriteStats()) {
      require(new HoodieFileGroupId(stat.getPartitionPath(), stat.getFileId()), stat);
    }
    if (metadata instanceof HoodieReplaceCommitMetadata) {
      ((HoodieReplaceCommitMetadata) metadata)
          .getPartitionToReplaceFileIds()
          .forEach(
              (partition, ids) ->
                  ids.forEach(id -> requireReplaced(new HoodieFileGroupId(partition, id))));
    }
  }

  private void require(HoodieFileGroupId group, HoodieWriteStat stat) {
    if (newer.contains(group) || required.containsKey(group)) {
      return;
    }
    String before = stat.getPrevCommit();
    boolean hadBase = before != null && !before.equals(HoodieWriteStat.NULL_COMMIT);
    if (hadBase && before.compareTo(state.asOf()) <= 0) {
      required.put(group, before);
    } else if (!hadBase && stat.getTotalLogFilesCompacted() > 0) {
      // Log files without a base file, which no later commit wrote.
      required.put(group, "");
    } else {
      newer.add(group);
    }
  }

  private void requireReplaced(HoodieFileGroupId group) {
    if (!newer.contains(group)) {
      required.putIfAbsent(group, "");
    }
  }

  private Map<HoodieFileGroupId, FileSlice> list(Set<String> partitions) throws IOException {
    Map<HoodieFileGroupId, FileSlice> groups = new HashMap<>();
    try (TableListing listing = state.list(Collections.singletonList(state.basePath()))) {
      List<String> known = new ArrayList<>(listing.partitions());
      known.retainAll(partitions);
      listing
          .slices(known, TableView.SNAPSHOT)
          .values()
          .forEach(
              slices ->
                  slices.forEach(
                      slice -> groups.put(slice.fileSlice().getFileGroupId(), slice.fileSlice())));
    }
    return groups;
  }

  private Set<HoodieFileGroupId> compacting() {
    return CompactionUtils.getAllPendingCompactionOperations(state.metaClient()).keySet();
  }

  private StateException problem(String reason, Throwable cause) {
    return new StateException(
        state.basePath(), "cannot be read as of " + state.asOf() + ": " + reason, cause);
  }
}
