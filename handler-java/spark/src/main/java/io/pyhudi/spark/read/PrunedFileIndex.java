package io.pyhudi.spark.read;

import io.pyhudi.hive.protocol.SparkCondition;
import io.pyhudi.hive.table.ListedSlices;
import io.pyhudi.hive.table.Slice;
import io.pyhudi.spark.service.Answer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.BaseHoodieTableFileIndex.PartitionPath;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.HoodieIncrementalFileIndex;
import org.apache.hudi.common.model.FileSlice;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Tuple2;
import scala.collection.Seq;

/**
 * Hudi's list of a table's files for one occurrence in a plan, without its own skipping, and
 * without the slices that the service proved to hold no row for which the conditions above this
 * occurrence are true.
 *
 * <p>Two of them are equal if they are of equal relations with equal conditions, so that Spark
 * still recognises equal scans.
 */
final class PrunedFileIndex implements FileIndex {
  private static final Logger LOG = LoggerFactory.getLogger(PrunedFileIndex.class);
  private static final Seq<Expression> NO_FILTERS = Scala.seq(new ArrayList<>());

  private final HoodieFileIndex hudi;
  private final SparkCondition condition;
  private final List<Expression> aboutPartitions;
  private final Answer answer;

  /**
   * @param condition what the answer is about
   * @param aboutPartitions the conjuncts by which Hudi may leave partitions out
   */
  PrunedFileIndex(
      HoodieFileIndex hudi,
      SparkCondition condition,
      List<Expression> aboutPartitions,
      Answer answer) {
    this.hudi = hudi;
    this.condition = condition;
    this.aboutPartitions = aboutPartitions;
    this.answer = answer;
  }

  HoodieFileIndex hudi() {
    return hudi;
  }

  boolean isAbout(SparkCondition other) {
    return Objects.equals(condition, other);
  }

  @Override
  public Seq<Path> rootPaths() {
    return hudi.rootPaths();
  }

  /** The data filters are those of the plan, or follow from them: the answer is about them. */
  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    if (hudi instanceof HoodieIncrementalFileIndex) {
      return hudi.listFiles(partitionFilters, NO_FILTERS);
    }
    return hudi.prepareFileSlices(Scala.seq(kept(partitionFilters)));
  }

  private List<Tuple2<InternalRow, FileSlice>> kept(Seq<Expression> partitionFilters) {
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
      for (FileSlice slice : keep(path.getPath(), slices)) {
        kept.add(new Tuple2<>(values, slice));
      }
      listed += slices.size();
    }
    LOG.info("{}: reads {} of {} listed slices", hudi.getBasePath(), kept.size(), listed);
    return kept;
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

  private List<FileSlice> keep(String partition, List<FileSlice> listed) {
    List<FileSlice> kept =
        answer.verdicts().keep(partition, listed, slice -> Slice.snapshot(slice).tokens());
    return kept.stream().filter(slice -> !slice.isEmpty()).collect(Collectors.toList());
  }

  @Override
  public String[] inputFiles() {
    List<String> names = new ArrayList<>();
    for (PartitionDirectory directory :
        Scala.list(listFiles(Scala.seq(aboutPartitions), NO_FILTERS))) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        names.add(file.getPath().toString());
      }
    }
    return names.toArray(new String[0]);
  }

  @Override
  public void refresh() {
    hudi.refresh();
  }

  /** Spark broadcasts what is small: without an answer Hudi has to list the files now. */
  @Override
  public long sizeInBytes() {
    if (answer.counts() != null) {
      return answer.keptBytes();
    }
    if (!(hudi instanceof HoodieIncrementalFileIndex)) {
      listed(Scala.seq(aboutPartitions));
    }
    return hudi.sizeInBytes();
  }

  @Override
  public StructType partitionSchema() {
    return hudi.partitionSchema();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PrunedFileIndex
        && ((PrunedFileIndex) other).hudi.equals(hudi)
        && ((PrunedFileIndex) other).isAbout(condition);
  }

  @Override
  public int hashCode() {
    return 31 * hudi.hashCode() + Objects.hashCode(condition);
  }

  @Override
  public String toString() {
    return answer.text();
  }
}
