package io.pyhudi.spark.read;

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

  TableSlices(HoodieFileIndex hudi) {
    this.hudi = hudi;
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
    List<Tuple2<InternalRow, FileSlice>> kept = new ArrayList<>();
    int listed = 0;
    for (Tuple2<Option<PartitionPath>, Seq<FileSlice>> partition : listed(partitionFilters)) {
      PartitionPath path = partition._1().get();
      List<FileSlice> slices = Scala.list(partition._2());
      InternalRow values = row(path);
      for (FileSlice slice : keep(path.getPath(), slices, answer)) {
        kept.add(new Tuple2<>(values, slice));
      }
      listed += slices.size();
    }
    LOG.info("{}: reads {} of {} listed slices", hudi.getBasePath(), kept.size(), listed);
    return kept;
  }

  /** The service has counted them. */
  @Override
  public Answer counted(Seq<Expression> partitionFilters, Answer answer) {
    return answer;
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

  private List<Tuple2<Option<PartitionPath>, Seq<FileSlice>>> listed(
      Seq<Expression> partitionFilters) {
    return Scala.list(hudi.filterFileSlices(NO_FILTERS, partitionFilters, true));
  }

  private static List<FileSlice> keep(String partition, List<FileSlice> listed, Answer answer) {
    List<FileSlice> kept =
        answer.verdicts().keep(partition, listed, slice -> Slice.snapshot(slice).tokens());
    return kept.stream().filter(slice -> !slice.isEmpty()).collect(Collectors.toList());
  }
}
