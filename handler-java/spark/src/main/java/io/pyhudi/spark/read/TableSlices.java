package io.pyhudi.spark.read;

import io.pyhudi.hive.scan.Verdicts;
import io.pyhudi.hive.table.ListedSlices;
import io.pyhudi.hive.table.Slice;
import io.pyhudi.spark.service.Answer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.hudi.BaseHoodieTableFileIndex.PartitionPath;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.common.model.FileSlice;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Tuple2;
import scala.collection.Seq;

/** The slices of one state of a table, without Hudi's own skipping. */
final class TableSlices implements Slices {
  private static final Logger LOG = LoggerFactory.getLogger(TableSlices.class);
  private static final Seq<Expression> NO_FILTERS = Scala.seq(new ArrayList<>());

  private final HoodieFileIndex hudi;
  private final String newest;

  /**
   * @param hudi Hudi's list
   * @param newest the requested time of the newest instant that it knows; null: of none
   */
  TableSlices(HoodieFileIndex hudi, String newest) {
    this.hudi = hudi;
    this.newest = newest;
  }

  @Override
  public List<Tuple2<InternalRow, FileSlice>> kept(
      Seq<Expression> partitionFilters, Answer answer) {
    // Spark does not evaluate these again: Hudi has to apply them to the partitions that it lists.
    if (answer.kept() != null && partitionFilters.isEmpty()) {
      Optional<List<Tuple2<InternalRow, FileSlice>>> listed =
          ListedSlices.of(hudi.metaClient(), answer.kept()).flatMap(this::withValues);
      if (listed.isPresent()) {
        return listed.get();
      }
    }
    List<Tuple2<InternalRow, FileSlice>> kept = listed(partitionFilters, answer.verdicts());
    LOG.info("{}: reads {} of the listed slices", hudi.getBasePath(), kept.size());
    return kept;
  }

  /**
   * The service has counted them, unless it knows a newer state than the relation, which still
   * reads the files of then.
   */
  @Override
  public Answer counted(Seq<Expression> partitionFilters, Answer answer) {
    if (answer.counts() == null || !answer.isNewerThan(newest)) {
      return answer;
    }
    SliceTotals kept = SliceTotals.of(kept(partitionFilters, answer));
    SliceTotals all = SliceTotals.of(listed(partitionFilters, Verdicts.none()));
    return answer.withCounts(all.keeping(kept, answer.counts().getElapsedMicros()));
  }

  @Override
  public long listedBytes(Seq<Expression> partitionFilters) {
    listed(partitionFilters);
    return hudi.sizeInBytes();
  }

  /**
   * Returns slices with the values of their partitions, as Hudi's index would list them; empty if
   * Hudi has to do it.
   */
  private Optional<List<Tuple2<InternalRow, FileSlice>>> withValues(List<FileSlice> slices) {
    try {
      return Optional.of(valued(slices));
    } catch (RuntimeException e) {
      LOG.warn("{}: Hudi lists the files, as partitions have no values", hudi.getBasePath(), e);
      return Optional.empty();
    }
  }

  private List<Tuple2<InternalRow, FileSlice>> valued(List<FileSlice> slices) {
    Map<String, InternalRow> values = new HashMap<>();
    List<Tuple2<InternalRow, FileSlice>> found = new ArrayList<>();
    for (FileSlice slice : slices) {
      InternalRow of =
          values.computeIfAbsent(
              slice.getPartitionPath(), path -> row(PartitionPaths.of(hudi, path)));
      FileSlice shown = slice.withLogFiles(hudi.includeLogFiles());
      if (!shown.isEmpty()) {
        found.add(new Tuple2<>(of, shown));
      }
    }
    LOG.info("{}: reads {} slices that the service lists", hudi.getBasePath(), found.size());
    return found;
  }

  private static InternalRow row(PartitionPath path) {
    return InternalRow.fromSeq(scala.Predef.wrapRefArray(path.getValues()));
  }

  private List<Tuple2<InternalRow, FileSlice>> listed(
      Seq<Expression> partitionFilters, Verdicts verdicts) {
    List<Tuple2<InternalRow, FileSlice>> kept = new ArrayList<>();
    for (Tuple2<Option<PartitionPath>, Seq<FileSlice>> partition : listed(partitionFilters)) {
      PartitionPath path = partition._1().get();
      InternalRow values = row(path);
      for (FileSlice slice : keep(path.getPath(), Scala.list(partition._2()), verdicts)) {
        kept.add(new Tuple2<>(values, slice));
      }
    }
    return kept;
  }

  private List<Tuple2<Option<PartitionPath>, Seq<FileSlice>>> listed(
      Seq<Expression> partitionFilters) {
    return Scala.list(hudi.filterFileSlices(NO_FILTERS, partitionFilters, true));
  }

  private static List<FileSlice> keep(String partition, List<FileSlice> listed, Verdicts verdicts) {
    List<FileSlice> kept =
        verdicts.keep(partition, listed, slice -> Slice.snapshot(slice).tokens());
    return kept.stream().filter(slice -> !slice.isEmpty()).collect(Collectors.toList());
  }
}
