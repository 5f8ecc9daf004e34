package io.pyhudi.spark.read;

import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.scan.Verdicts;
import io.pyhudi.hive.table.FileListing;
import io.pyhudi.hive.table.Slice;
import io.pyhudi.spark.service.Answer;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hudi.HoodieIncrementalFileIndex;
import org.apache.hudi.HoodieIncrementalRelationV1Trait;
import org.apache.hudi.HoodieIncrementalRelationV2Trait;
import org.apache.hudi.MergeOnReadIncrementalRelation;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * The slices that the commits of a range wrote, among which an incremental query reads.
 *
 * <p>The service answers about the table's state at the last of these commits. What it proves about
 * a slice there holds for a slice of the same files here, if it has no log files: Hudi's reader
 * merges those only with the rows of the base file that the range wrote, so it may show versions of
 * records that the state does not.
 */
final class ChangedSlices implements Slices {
  private static final Logger LOG = LoggerFactory.getLogger(ChangedSlices.class);
  private static final Seq<Expression> NO_FILTERS = Scala.seq(new ArrayList<>());
  private static final String RELATION = "mergeOnReadIncrementalRelation";

  private final HoodieIncrementalFileIndex hudi;
  private final MergeOnReadIncrementalRelation relation;

  private ChangedSlices(HoodieIncrementalFileIndex hudi, MergeOnReadIncrementalRelation relation) {
    this.hudi = hudi;
    this.relation = relation;
  }

  /** Returns what Hudi's index lists; it keeps its source to itself. */
  static ChangedSlices of(HoodieIncrementalFileIndex hudi) {
    try {
      Field field = HoodieIncrementalFileIndex.class.getDeclaredField(RELATION);
      field.setAccessible(true);
      return new ChangedSlices(hudi, (MergeOnReadIncrementalRelation) field.get(hudi));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Hudi's incremental file index has no " + RELATION, e);
    }
  }

  /** Returns the requested time of the last commit of the range; null if there is none. */
  String lastInstant() {
    List<HoodieInstant> commits = commits();
    return commits.isEmpty() ? null : commits.get(commits.size() - 1).requestedTime();
  }

  private List<HoodieInstant> commits() {
    if (relation instanceof HoodieIncrementalRelationV2Trait) {
      return Scala.list(((HoodieIncrementalRelationV2Trait) relation).includedCommits());
    }
    if (relation instanceof HoodieIncrementalRelationV1Trait) {
      return Scala.list(((HoodieIncrementalRelationV1Trait) relation).includedCommits());
    }
    return Collections.emptyList();
  }

  @Override
  public List<Tuple2<InternalRow, FileSlice>> kept(
      Seq<Expression> partitionFilters, Answer answer) {
    return kept(listed(partitionFilters), answer);
  }

  private List<Tuple2<InternalRow, FileSlice>> kept(
      List<Tuple2<InternalRow, FileSlice>> listed, Answer answer) {
    Map<String, Set<Set<String>>> excluded = excluded(partitions(listed), answer.verdicts());
    List<Tuple2<InternalRow, FileSlice>> kept = new ArrayList<>();
    for (Tuple2<InternalRow, FileSlice> found : listed) {
      FileSlice slice = found._2();
      boolean isProved =
          !slice.hasLogFiles()
              && excluded
                  .getOrDefault(slice.getPartitionPath(), Collections.emptySet())
                  .contains(Slice.snapshot(slice).tokenSet());
      if (!isProved && !answer.verdicts().dropsPartition(slice.getPartitionPath())) {
        kept.add(found);
      }
    }
    LOG.info("{}: reads {} of {} changed slices", hudi.getBasePath(), kept.size(), listed.size());
    return kept;
  }

  private List<Tuple2<InternalRow, FileSlice>> listed(Seq<Expression> partitionFilters) {
    List<Tuple2<InternalRow, FileSlice>> listed = new ArrayList<>();
    JavaConverters.mapAsJavaMap(relation.listFileSplits(partitionFilters, NO_FILTERS))
        .forEach(
            (values, slices) -> {
              for (FileSlice slice : Scala.list(slices)) {
                FileSlice shown = slice.withLogFiles(hudi.includeLogFiles());
                if (!shown.isEmpty()) {
                  listed.add(new Tuple2<>(values, shown));
                }
              }
            });
    return listed;
  }

  /** Returns the partitions of slices about which a verdict of the state could say something. */
  private static Set<String> partitions(List<Tuple2<InternalRow, FileSlice>> listed) {
    return listed.stream()
        .map(Tuple2::_2)
        .filter(slice -> !slice.hasLogFiles())
        .map(FileSlice::getPartitionPath)
        .collect(Collectors.toSet());
  }

  /** Returns the files of each slice of the state that no matching row is in, by partition. */
  private Map<String, Set<Set<String>>> excluded(Set<String> partitions, Verdicts verdicts) {
    Set<String> evaluated = new HashSet<>(partitions);
    evaluated.removeIf(partition -> !verdicts.isAboutFiles(partition));
    if (evaluated.isEmpty()) {
      return Collections.emptyMap();
    }
    Map<String, Set<Set<String>>> excluded = new HashMap<>();
    try {
      FileListing.slices(hudi.metaClient(), lastInstant(), evaluated)
          .forEach(
              (partition, slices) ->
                  excluded.put(partition, verdicts.excluded(partition, shown(slices))));
    } catch (Exception e) {
      LOG.warn(
          "{}: its state at {} cannot be listed, every changed file is read",
          hudi.getBasePath(),
          lastInstant(),
          e);
      return Collections.emptyMap();
    }
    return excluded;
  }

  private static List<Slice> shown(List<FileSlice> slices) {
    return slices.stream().map(Slice::snapshot).collect(Collectors.toList());
  }

  @Override
  public Answer counted(Seq<Expression> partitionFilters, Answer answer) {
    PruneCounts ofState = answer.counts();
    if (ofState == null) {
      return answer;
    }
    List<Tuple2<InternalRow, FileSlice>> listed = listed(partitionFilters);
    SliceTotals kept = SliceTotals.of(kept(listed, answer));
    return answer.withCounts(SliceTotals.of(listed).keeping(kept, ofState.getElapsedMicros()));
  }

  @Override
  public long listedBytes(Seq<Expression> partitionFilters) {
    return hudi.sizeInBytes();
  }
}
