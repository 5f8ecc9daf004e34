package io.pyhudi.hive.scan;

import io.pyhudi.hive.files.LocatedFiles;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.table.HudiTable;
import io.pyhudi.hive.table.Slice;
import io.pyhudi.hive.version.HiveVersion;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;

/** Creates the splits for the slices that a scan has to read. */
public final class Splits {
  private Splits() {}

  /**
   * Creates the splits of a scan. Plain Parquet files are split by Hadoop's rules, with their
   * hosts. A slice to merge is one split. A file that Hive may not be able to read is one split
   * too; the reader decides by the columns of the query.
   *
   * @param numSplits the number of splits that the engine requests
   */
  public static List<HudiSplit> of(TableScan scan, JobConf job, int numSplits) throws IOException {
    List<HudiSplit> splits = new ArrayList<>();
    List<FileStatus> plain = new ArrayList<>();
    Map<Path, FileRows> selected = new HashMap<>();
    HudiTable table = scan.table();
    if (scan.generated() != null) {
      splits.add(HudiSplit.generated(table.basePath(), scan.generated()));
    }
    boolean isEmpty = scan.slices().isEmpty();
    boolean isOfChanges = table.changes() != null;
    boolean throughHudi = isOfChanges || (!isEmpty && table.hasSchemaHistory());
    Set<String> commits = isOfChanges ? table.changes().instants() : Collections.emptySet();
    boolean whole = !isEmpty && !isForHive(table);
    String newest = table.newestInstant();
    String state = table.stateKey();
    for (Slice slice : scan.slices()) {
      boolean isPlain = slice.isPlainParquet() && !throughHudi;
      FileRows rows = scan.rows().rows(slice);
      if (isPlain && !whole) {
        FileStatus file = status(slice.fileSlice().getBaseFile().get());
        plain.add(file);
        if (rows != null) {
          selected.put(file.getPath(), rows);
        }
      } else {
        HudiSplit split =
            HudiSplit.merged(table.basePath(), slice, newest, state).ofCommits(commits);
        if (isPlain) {
          split.asPlainFile().ofRows(rows == null ? null : rows.whole());
        } else if (scan.rows().joins(slice) && (rows != null || HiveVersion.readsUnfiltered())) {
          split.asJoined().ofRows(rows == null ? null : rows.whole());
        }
        splits.add(split);
      }
    }
    splits.addAll(ofPlainFiles(plain, selected, job, numSplits));
    if (table.hasVirtualKeys()) {
      splits.forEach(split -> split.withHiddenKeysOf(table.basePath()));
    }
    if (scan.isOfWholeTable() && HiveVersion.findsTablesByBasePath(job)) {
      splits.forEach(split -> split.withTablePath(table.basePath()));
    }
    if (!splits.isEmpty()) {
      splits.get(0).withReport(scan.report());
    }
    return splits;
  }

  private static List<HudiSplit> ofPlainFiles(
      List<FileStatus> files, Map<Path, FileRows> selected, JobConf job, int numSplits)
      throws IOException {
    Map<Path, Long> lengths = new HashMap<>();
    files.forEach(file -> lengths.put(file.getPath(), file.getLen()));
    List<HudiSplit> splits = new ArrayList<>();
    Map<Path, List<FileSplit>> byLength = new LinkedHashMap<>();
    for (InputSplit part : new ListedFiles(LocatedFiles.of(files, job)).getSplits(job, numSplits)) {
      FileSplit file = (FileSplit) part;
      if (selected.containsKey(file.getPath())) {
        byLength.computeIfAbsent(file.getPath(), path -> new ArrayList<>()).add(file);
      } else {
        splits.add(HudiSplit.plain(file, lengths.getOrDefault(file.getPath(), -1L)));
      }
    }
    for (Map.Entry<Path, List<FileSplit>> file : byLength.entrySet()) {
      for (FileRows.Part part : selected.get(file.getKey()).parts(file.getValue())) {
        splits.add(HudiSplit.selected(part, lengths.get(file.getKey())));
      }
    }
    return splits;
  }

  /** Returns whether Hive's own Parquet reader can read every column of the table. */
  private static boolean isForHive(HudiTable table) throws IOException {
    return (HiveVersion.readsTimestamps() || !hasTimestamps(table.schema()))
        && (HiveVersion.readsUnfiltered() || !table.hasVirtualKeys());
  }

  /** Returns whether a column, or a field nested in one, is a timestamp. */
  private static boolean hasTimestamps(Schema schema) {
    switch (schema.getType()) {
      case RECORD:
        return schema.getFields().stream().anyMatch(field -> hasTimestamps(field.schema()));
      case UNION:
        return schema.getTypes().stream().anyMatch(Splits::hasTimestamps);
      case ARRAY:
        return hasTimestamps(schema.getElementType());
      case MAP:
        return hasTimestamps(schema.getValueType());
      default:
        return schema.getType() == Schema.Type.LONG && schema.getLogicalType() != null;
    }
  }

  private static FileStatus status(HoodieBaseFile file) {
    return HadoopFSUtils.convertToHadoopFileStatus(file.getPathInfo());
  }

  /** Applies Hadoop's rules for splits to files that are already listed. */
  private static final class ListedFiles extends FileInputFormat<NullWritable, ArrayWritable> {
    private final List<FileStatus> files;

    ListedFiles(List<FileStatus> files) {
      this.files = files;
    }

    @Override
    protected FileStatus[] listStatus(JobConf job) {
      return files.toArray(new FileStatus[0]);
    }

    @Override
    protected FileSplit makeSplit(Path file, long start, long length, String[] hosts) {
      return new FileSplit(file, start, length, hosts);
    }

    @Override
    public RecordReader<NullWritable, ArrayWritable> getRecordReader(
        InputSplit split, JobConf job, Reporter reporter) {
      throw new UnsupportedOperationException("these splits are wrapped");
    }
  }
}
