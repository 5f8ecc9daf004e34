package io.pyhudi.hive;

import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.predicate.ScanTime;
import io.pyhudi.hive.read.CombinedReader;
import io.pyhudi.hive.read.SliceReaders;
import io.pyhudi.hive.scan.CombinedSplit;
import io.pyhudi.hive.scan.HudiSplit;
import io.pyhudi.hive.scan.MetadataScan;
import io.pyhudi.hive.scan.SplitCombiner;
import io.pyhudi.hive.scan.Splits;
import io.pyhudi.hive.scan.TableScan;
import io.pyhudi.hive.table.HudiTable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedInputFormatInterface;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedSupport;
import org.apache.hadoop.hive.ql.io.CombineHiveInputFormat;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/**
 * Reads Hudi tables, or partitions of them, and only the files that can hold matching rows.
 *
 * <p>Files are dropped here, when splits are made, and never while reading: a split may serve
 * several scans with different filters. Hive keeps one instance for all queries, so the class holds
 * no state.
 *
 * <p>This class does not extend MapredParquetInputFormat on purpose: Hive would then collect
 * statistics from all Parquet files that it finds in the directories, old versions included.
 */
abstract class HudiInputFormat extends FileInputFormat<NullWritable, ArrayWritable>
    implements VectorizedInputFormatInterface, CombineHiveInputFormat.AvoidSplitCombination {

  /** Returns the settings of a scan, as this format applies them. */
  abstract PruningSettings settings(JobConf job);

  @Override
  public InputSplit[] getSplits(JobConf job, int numSplits) throws IOException {
    try {
      return splits(job, numSplits);
    } catch (IOException | RuntimeException e) {
      throw MissingFiles.asFailure(e);
    }
  }

  private InputSplit[] splits(JobConf job, int numSplits) throws IOException {
    PruningSettings settings = settings(job);
    List<InputSplit> splits = new ArrayList<>();
    for (Path location : getInputPaths(job)) {
      MetadataView view = MetadataView.of(location);
      if (view != null) {
        List<Path> locations = Collections.singletonList(location);
        splits.add(MetadataScan.split(job, view, ScanTime.settings(job, locations, settings)));
      }
    }
    for (Map.Entry<Path, List<Path>> table : tables(job).entrySet()) {
      PruningSettings ofScan = ScanTime.settings(job, table.getValue(), settings);
      TableScan scan = TableScan.plan(job, table.getKey(), table.getValue(), ofScan);
      List<HudiSplit> ofTable = Splits.of(scan, job, numSplits);
      splits.addAll(SplitCombiner.combine(job, table.getValue(), ofTable));
    }
    return splits.toArray(new InputSplit[0]);
  }

  /** Groups the locations of data to scan by the base path of their table. */
  private static Map<Path, List<Path>> tables(JobConf job) throws IOException {
    Map<Path, List<Path>> tables = new LinkedHashMap<>();
    Path last = null;
    for (Path location : getInputPaths(job)) {
      if (MetadataView.of(location) != null) {
        continue;
      }
      // Partitions of one table are adjacent, so one look-up serves all of them.
      if (last == null || !isBelow(location, last)) {
        last = HudiTable.basePathOf(job, location);
      }
      tables.computeIfAbsent(last, basePath -> new ArrayList<>()).add(location);
    }
    return tables;
  }

  private static boolean isBelow(Path location, Path basePath) {
    return location.toString().startsWith(basePath + Path.SEPARATOR);
  }

  @Override
  public RecordReader<NullWritable, ArrayWritable> getRecordReader(
      InputSplit split, JobConf job, Reporter reporter) throws IOException {
    if (split instanceof CombinedSplit) {
      return CombinedReader.open(((CombinedSplit) split).parts(), job, reporter);
    }
    if (!(split instanceof HudiSplit)) {
      throw new IOException(
          getClass().getSimpleName()
              + " reads its own splits only, not "
              + split
              + "; SET hive.input.format=org.apache.hadoop.hive.ql.io.HiveInputFormat");
    }
    HudiSplit hudi = (HudiSplit) split;
    hudi.count(reporter);
    return SliceReaders.open(hudi, job, reporter);
  }

  /**
   * Keeps Hive from combining: it would combine every file in the directories. {@link
   * SplitCombiner} does it instead.
   */
  @Override
  public boolean shouldSkipCombine(Path path, Configuration conf) {
    return true;
  }

  /** Hive asks this while it compiles a query. */
  @Override
  public VectorizedSupport.Support[] getSupportedFeatures() {
    AdoptedTables.add();
    return null;
  }
}
