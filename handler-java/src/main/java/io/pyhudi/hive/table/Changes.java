package io.pyhudi.hive.table;

import io.pyhudi.hive.ConsumeSettings;
import io.pyhudi.hive.protocol.TableView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieCommitMetadata;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.HoodieTableVersion;
import org.apache.hudi.common.table.log.InstantRange.RangeType;
import org.apache.hudi.common.table.read.IncrementalQueryAnalyzer;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.HoodieTimeline;
import org.apache.hudi.common.table.timeline.TimelineUtils;
import org.apache.hudi.common.table.view.HoodieTableFileSystemView;
import org.apache.hudi.storage.StoragePathInfo;

/**
 * The changes of a table by some of its commits: the rows that these commits wrote and that are
 * still there at the last of them, as Hudi's Spark reader reads them.
 *
 * <p>A commit is chosen by its completion time, in tables of version 6 by its requested time. The
 * start is exclusive, the end inclusive.
 */
public final class Changes {
  private final String text;
  private final List<HoodieInstant> commits;
  private final Map<String, List<FileSlice>> slices;

  private Changes(String text, List<HoodieInstant> commits, Map<String, List<FileSlice>> slices) {
    this.text = text;
    this.commits = commits;
    this.slices = slices;
  }

  /** Finds the commits of a range, and the slices that they wrote. */
  static Changes of(HudiTable table, ConsumeSettings settings, QueryInstant times) {
    if (settings.start() == null) {
      throw problem(table, "consume.start.timestamp is not set", null);
    }
    if (!table.metaClient().getTableConfig().populateMetaFields()) {
      throw problem(table, "its files do not hold _hoodie_commit_time", null);
    }
    String start = times.bound(settings.start());
    String end = settings.end() == null ? null : times.bound(settings.end());
    int most = mostCommits(table, settings.maxCommits());
    boolean byCompletion =
        table
            .metaClient()
            .getTableConfig()
            .getTableVersion()
            .greaterThanOrEquals(HoodieTableVersion.EIGHT);
    try {
      return byCompletion ? completed(table, start, end, most) : requested(table, start, end, most);
    } catch (IOException e) {
      throw problem(table, "its commits cannot be read: " + e.getMessage(), e);
    }
  }

  private static int mostCommits(HudiTable table, String text) {
    if (text == null) {
      return Integer.MAX_VALUE;
    }
    try {
      int most = Integer.parseInt(text);
      return most < 0 ? Integer.MAX_VALUE : most;
    } catch (NumberFormatException e) {
      throw problem(table, "consume.max.commits is '" + text + "', not a number", e);
    }
  }

  private static Changes completed(HudiTable table, String start, String end, int most)
      throws IOException {
    IncrementalQueryAnalyzer.QueryContext found =
        IncrementalQueryAnalyzer.builder()
            .metaClient(table.metaClient())
            .startCompletionTime(start)
            .endCompletionTime(end)
            .rangeType(RangeType.OPEN_CLOSED)
            .build()
            .analyze();
    if (!found.getArchivedInstants().isEmpty()) {
      throw archived(table, found.getArchivedInstants().get(0).requestedTime());
    }
    // The next range starts after the last completion, so none that completed before it may lack.
    List<HoodieInstant> commits = new ArrayList<>(found.getInstants());
    commits.sort(Comparator.comparing(HoodieInstant::getCompletionTime));
    commits = new ArrayList<>(first(commits, most));
    commits.sort(Comparator.comparing(HoodieInstant::requestedTime));
    return of(table, start, end, commits, found.getActiveTimeline());
  }

  private static Changes requested(HudiTable table, String start, String end, int most)
      throws IOException {
    HoodieTableMetaClient metaClient = table.metaClient();
    HoodieTimeline commits = metaClient.getCommitsTimeline().filterCompletedInstants();
    if (commits.isBeforeTimelineStarts(start)) {
      HoodieTimeline archived =
          metaClient
              .getArchivedTimeline()
              .getCommitsTimeline()
              .filterCompletedInstants()
              .findInstantsAfter(start);
      if (!archived.empty()) {
        throw archived(table, archived.firstInstant().get().requestedTime());
      }
    }
    HoodieTimeline after = commits.findInstantsAfter(start);
    List<HoodieInstant> range =
        (end == null ? after : after.findInstantsBeforeOrEquals(end)).getInstants();
    HoodieTimeline compactions =
        metaClient.getCommitsAndCompactionTimeline().filterPendingMajorOrMinorCompactionTimeline();
    return of(
        table,
        start,
        end,
        first(range, most),
        TimelineUtils.concatTimeline(commits, compactions, metaClient));
  }

  private static List<HoodieInstant> first(List<HoodieInstant> commits, int most) {
    return commits.subList(0, Math.min(most, commits.size()));
  }

  private static Changes of(
      HudiTable table,
      String start,
      String end,
      List<HoodieInstant> commits,
      HoodieTimeline timeline)
      throws IOException {
    String text =
        String.format(
            "changes after %s%s, commits: %d",
            start, end == null ? "" : " to " + end, commits.size());
    Map<String, List<FileSlice>> slices = new LinkedHashMap<>();
    if (!commits.isEmpty()) {
      HoodieTableMetaClient metaClient = table.metaClient();
      Map<String, StoragePathInfo> files = new LinkedHashMap<>();
      Set<String> partitions = new LinkedHashSet<>();
      for (HoodieInstant commit : commits) {
        HoodieCommitMetadata metadata = TimelineUtils.getCommitMetadata(commit, timeline);
        files.putAll(
            metadata.getFullPathToInfo(
                metaClient.getStorage(), metaClient.getBasePath().toString()));
        partitions.addAll(metadata.getWritePartitionPaths());
      }
      String last = commits.get(commits.size() - 1).requestedTime();
      try (HoodieTableFileSystemView view =
          new HoodieTableFileSystemView(metaClient, timeline, new ArrayList<>(files.values()))) {
        for (String partition : partitions) {
          slices.put(
              partition,
              view.getLatestMergedFileSlicesBeforeOrOn(partition, last)
                  .collect(Collectors.toList()));
        }
      }
    }
    return new Changes(text, commits, slices);
  }

  /** Returns a text for users: the range and the number of its commits. */
  public String text() {
    return text;
  }

  /** Returns the requested time of the last commit; null if there is none. */
  String lastInstant() {
    return commits.isEmpty() ? null : commits.get(commits.size() - 1).requestedTime();
  }

  /** Returns the requested times of the commits, which the rows hold as their commit times. */
  public Set<String> instants() {
    return commits.stream().map(HoodieInstant::requestedTime).collect(Collectors.toSet());
  }

  /** Returns the slices that the commits wrote as the view reads them, by partition path. */
  public Map<String, List<Slice>> slices(TableView view) {
    Map<String, List<Slice>> viewed = new LinkedHashMap<>();
    slices.forEach((partition, found) -> viewed.put(partition, TableListing.toSlices(found, view)));
    return viewed;
  }

  /**
   * Checks that files are still there.
   *
   * @param slices to read
   * @param files the names of the table's files
   * @throws StateException if the cleaner has deleted one
   */
  public void require(HudiTable table, Collection<Slice> slices, Set<String> files) {
    for (Slice slice : slices) {
      for (String name : slice.fileNames()) {
        if (!files.contains(name)) {
          throw problem(
              table,
              text + ": the cleaner has deleted " + slice.partitionPath() + "/" + name,
              null);
        }
      }
    }
  }

  private static StateException archived(HudiTable table, String instant) {
    return problem(table, "commits of the range have been archived, the first at " + instant, null);
  }

  private static StateException problem(HudiTable table, String reason, Throwable cause) {
    return new StateException(table.basePath(), "cannot be read incrementally: " + reason, cause);
  }
}
