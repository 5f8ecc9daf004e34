package io.pyhudi.hive.read;

import io.pyhudi.hive.merge.KeyRows;
import io.pyhudi.hive.scan.HudiSplit;
import io.pyhudi.hive.version.HiveVersion;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector.Category;
import org.apache.hadoop.hive.serde2.typeinfo.ListTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.MapTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.StructTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/** Chooses the reader of a split. */
public final class SliceReaders {
  private SliceReaders() {}

  /**
   * Opens a reader of rows, or of batches if the query is vectorised. Hive passes batches through
   * the type of rows.
   */
  public static RecordReader<NullWritable, ArrayWritable> open(
      HudiSplit split, JobConf settings, Reporter reporter) throws IOException {
    try {
      return choose(split, settings, reporter);
    } catch (NoSuchMethodError e) {
      if (!String.valueOf(e.getMessage()).contains("avro")) {
        throw e;
      }
      throw new IOException(
          split.getPath()
              + ": this task finds an older Avro before Hudi's: set"
              + " mapreduce.job.user.classpath.first=true in hive-site.xml, as jobs on tables with"
              + " the storage handler do themselves",
          e);
    }
  }

  private static RecordReader<NullWritable, ArrayWritable> choose(
      HudiSplit split, JobConf settings, Reporter reporter) throws IOException {
    JobConf job =
        split.hiddenKeysTable() == null
            ? settings
            : HiddenKeys.in(settings, split.hiddenKeysTable());
    boolean vectorized = Utilities.getIsVectorized(job);
    Projection projection = Projection.of(job);
    if (split.metadata() != null) {
      RowReader rows = new MetadataRowsReader(split.metadata(), projection);
      return vectorized ? asRows(new BatchReader(rows, split, job, projection)) : rows;
    }
    boolean isForHive =
        split.isPlainFile() && (split.mergedSlice() == null || !isForHudi(split, projection));
    boolean inBatches = vectorized && isForBatches(projection);
    if (split.generated() == null && isForHive && inBatches) {
      return PlainParquet.batches(split, null, job, reporter);
    }
    RecordReader<NullWritable, ArrayWritable> rows;
    if (split.generated() != null) {
      rows = new GeneratedRowsReader(split.generated(), projection);
    } else if (isForHive) {
      rows = PlainParquet.rows(split, null, job, reporter);
    } else if (split.isJoined() && HiveVersion.readsUnfiltered()) {
      MergedSliceReader merged = MergedSliceReader.named(split.mergedSlice(), job, projection);
      JoinedReader.Opener<ArrayWritable> base = base(split, merged, job, reporter, inBatches);
      if (inBatches && base != null) {
        return new JoinedReader<>(asRows(new BatchReader(merged, split, job, projection)), base);
      }
      rows = base == null ? merged : new JoinedReader<>(merged, base);
    } else if (split.rows() != null) {
      rows = matching(split, job, projection, reporter);
    } else {
      rows = MergedSliceReader.all(split.mergedSlice(), job, projection);
    }
    return vectorized ? asRows(new BatchReader(rows, split, job, projection)) : rows;
  }

  /** Opens Hudi's reader where Hive's reader of this version would drop rows or read others. */
  private static MergedSliceReader matching(
      HudiSplit split, JobConf job, Projection projection, Reporter reporter) throws IOException {
    MergedSliceReader reader =
        MergedSliceReader.matching(split.mergedSlice(), split.rows(), job, projection);
    if (reader.areAll()) {
      RowCounters.addWholeSplit(reporter);
    }
    return reader;
  }

  /**
   * Returns what reads those rows of a base file that are not merged; null if there are none, or if
   * Hudi returns all of them.
   *
   * @param merged the other rows
   */
  private static JoinedReader.Opener<ArrayWritable> base(
      HudiSplit split,
      MergedSliceReader merged,
      JobConf job,
      Reporter reporter,
      boolean inBatches) {
    KeyRows ofBase = merged.ofBaseFile();
    if (ofBase == null) {
      RowCounters.addWholeSplit(reporter);
      return null;
    }
    if (split.rows() != null && split.rows().ranges().isEmpty()) {
      return null;
    }
    HiddenRows hidden = HiddenRows.of(ofBase.rows(), ofBase.fileRows());
    return inBatches
        ? () -> PlainParquet.batches(split, hidden, job, reporter)
        : () -> PlainParquet.rows(split, hidden, job, reporter);
  }

  @SuppressWarnings("unchecked")
  static RecordReader<NullWritable, ArrayWritable> asRows(RecordReader<?, ?> batches) {
    return (RecordReader<NullWritable, ArrayWritable>) batches;
  }

  private static boolean isForBatches(Projection projection) {
    return projection.projected().stream()
        .map(projection::type)
        .allMatch(SliceReaders::isForBatches);
  }

  /**
   * Returns whether Hive's vectorised Parquet reader supports the type: it reads at most one level
   * of nesting.
   */
  private static boolean isForBatches(TypeInfo type) {
    return HiveVersion.readsInBatches(type.getCategory())
        && children(type).stream().allMatch(child -> child.getCategory() == Category.PRIMITIVE);
  }

  /** Returns whether Hive 3.1's Parquet reader would read the split differently from Hive 4's. */
  private static boolean isForHudi(HudiSplit split, Projection projection) {
    return split.hiddenKeysTable() != null || hasTimestamps(projection);
  }

  private static boolean hasTimestamps(Projection projection) {
    return projection.projected().stream()
        .map(projection::type)
        .anyMatch(SliceReaders::hasTimestamps);
  }

  private static boolean hasTimestamps(TypeInfo type) {
    return type.equals(TypeInfoFactory.timestampTypeInfo)
        || children(type).stream().anyMatch(SliceReaders::hasTimestamps);
  }

  private static List<TypeInfo> children(TypeInfo type) {
    switch (type.getCategory()) {
      case LIST:
        return Collections.singletonList(((ListTypeInfo) type).getListElementTypeInfo());
      case MAP:
        return Collections.singletonList(((MapTypeInfo) type).getMapValueTypeInfo());
      case STRUCT:
        return ((StructTypeInfo) type).getAllStructFieldTypeInfos();
      default:
        return Collections.emptyList();
    }
  }
}
