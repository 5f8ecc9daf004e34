package io.pyhudi.hive.read;

import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.scan.HudiSplit;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatchCtx;
import org.apache.hadoop.hive.ql.io.IOConstants;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.hive.serde2.ColumnProjectionUtils;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/** Reads files by Hive's readers, as a task of a query does. */
final class HiveReading {
  private HiveReading() {}

  /** Returns the settings of a task that reads these columns of {@link ParquetFiles}. */
  static JobConf job(Configuration conf, boolean isVectorized, String... columns) {
    JobConf job = new JobConf(new HiveConf(conf, HiveReading.class));
    job.set(IOConstants.COLUMNS, String.join(",", ParquetFiles.NAMES));
    job.set(IOConstants.COLUMNS_TYPES, String.join(":", ParquetFiles.TYPES));
    List<Integer> ids =
        Arrays.stream(columns)
            .map(name -> Arrays.asList(ParquetFiles.NAMES).indexOf(name))
            .sorted()
            .collect(Collectors.toList());
    ColumnProjectionUtils.setReadColumns(job, ids);
    job.setBoolean(Utilities.VECTOR_MODE, isVectorized);
    if (isVectorized) {
      setContext(job, Arrays.asList(ParquetFiles.NAMES), String.join(":", ParquetFiles.TYPES));
    }
    return job;
  }

  /** Makes a query read batches of these columns. */
  static void setContext(JobConf job, List<String> names, String typeNames) {
    List<TypeInfo> types = TypeInfoUtils.getTypeInfosFromTypeString(typeNames);
    TypeInfo row = TypeInfoFactory.getStructTypeInfo(names, types);
    VectorizedRowBatchCtx context = new VectorizedRowBatchCtx();
    try {
      context.init(
          (StructObjectInspector) TypeInfoUtils.getStandardWritableObjectInspectorFromTypeInfo(row),
          new String[0]);
    } catch (org.apache.hadoop.hive.ql.metadata.HiveException e) {
      throw new IllegalStateException(e);
    }
    MapWork work = new MapWork();
    work.setVectorMode(true);
    work.setVectorizedRowBatchCtx(context);
    job.set("hive.exec.plan", "/plan-of-" + HiveReading.class.getSimpleName());
    Utilities.setMapWork(job, work);
  }

  /** Returns the rows of a split as texts. */
  static List<String> read(HudiSplit split, JobConf job) throws IOException {
    return read(split, null, job);
  }

  /** Returns the rows of a split as texts, without hidden ones if there are some. */
  static List<String> read(HudiSplit split, HiddenRows hidden, JobConf job) throws IOException {
    return Utilities.getIsVectorized(job) ? batches(split, hidden, job) : rows(split, hidden, job);
  }

  private static List<String> rows(HudiSplit split, HiddenRows hidden, JobConf job)
      throws IOException {
    List<String> rows = new ArrayList<>();
    RecordReader<NullWritable, ArrayWritable> reader =
        PlainParquet.rows(split, hidden, job, Reporter.NULL);
    ArrayWritable row = reader.createValue();
    while (reader.next(NullWritable.get(), row)) {
      rows.add(text(row));
    }
    reader.close();
    return rows;
  }

  private static String text(Writable value) {
    return value instanceof ArrayWritable
        ? Arrays.stream(((ArrayWritable) value).get())
            .map(HiveReading::text)
            .collect(Collectors.joining(", ", "[", "]"))
        : String.valueOf(value);
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static List<String> batches(HudiSplit split, HiddenRows hidden, JobConf job)
      throws IOException {
    return batches((RecordReader) PlainParquet.batches(split, hidden, job, Reporter.NULL), job);
  }

  /** Returns the rows of a reader of batches as texts. */
  static List<String> batches(RecordReader<NullWritable, VectorizedRowBatch> reader, JobConf job)
      throws IOException {
    List<String> rows = new ArrayList<>();
    VectorizedRowBatch batch = reader.createValue();
    List<Integer> columns = ColumnProjectionUtils.getReadColumnIDs(job);
    while (reader.next(NullWritable.get(), batch)) {
      for (int at = 0; at < batch.size; at++) {
        int row = batch.selectedInUse ? batch.selected[at] : at;
        StringBuilder text = new StringBuilder();
        for (int column : columns) {
          text.append(text.length() == 0 ? "[" : ", ");
          batch.cols[column].stringifyValue(text, row);
        }
        rows.add(text + "]");
      }
    }
    reader.close();
    return rows;
  }

  /** Returns the splits of the selected rows. */
  static List<HudiSplit> splits(FileRows rows, List<FileSplit> byLength) throws IOException {
    List<HudiSplit> splits = new ArrayList<>();
    for (FileRows.Part part : rows.parts(byLength)) {
      splits.add(HudiSplit.selected(part, rows.fileSize()));
    }
    return splits;
  }

  /** Returns splits of a file, as Hadoop makes them by its length. */
  static List<FileSplit> byLength(org.apache.hadoop.fs.Path path, long length, long splitLength) {
    List<FileSplit> splits = new ArrayList<>();
    for (long start = 0; start < length; start += splitLength) {
      splits.add(
          new FileSplit(path, start, Math.min(splitLength, length - start), new String[] {"host"}));
    }
    return splits;
  }
}
