package io.pyhudi.hive.read;

import io.pyhudi.hive.files.DataFile;
import io.pyhudi.hive.rows.ColumnChoice;
import io.pyhudi.hive.rows.SelectedParquet;
import io.pyhudi.hive.scan.HudiSplit;
import java.io.IOException;
import org.apache.hadoop.hive.ql.io.parquet.ProjectionPusher;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/** Opens Hive's readers on plain Parquet files, or on those of their rows that are selected. */
final class PlainFiles {
  /** Where the plan of a job is; a fetch task has none. */
  private static final String PLAN = "hive.exec.plan";

  private PlainFiles() {}

  /** Opens one of Hive's readers. */
  interface Opener<V> {
    /**
     * @param job the task's configuration, or a copy in which the file is served
     */
    RecordReader<NullWritable, V> open(FileSplit file, JobConf job) throws IOException;
  }

  /**
   * Opens a split.
   *
   * @param hidden rows of the file that are not returned; null for none
   * @param reporter null if the engine has no counters
   */
  static <V> RecordReader<NullWritable, V> open(
      HudiSplit split, HiddenRows hidden, JobConf job, Reporter reporter, Opener<V> opener)
      throws IOException {
    FileSplit file = split.file();
    if (split.rows() != null) {
      SelectedParquet rows =
          SelectedParquet.open(
              file.getPath(), split.fileLength(), split.rows(), columns(file, job), job);
      if (rows != null) {
        return SelectedRowsReader.open(rows, file, hidden, job, reporter, opener);
      }
      RowCounters.addWholeSplit(reporter);
    }
    RecordReader<NullWritable, V> reader =
        DataFile.read(
            file.getPath(), split.fileLength(), job, settings -> opener.open(file, settings));
    return hidden == null ? reader : hidden.in(reader);
  }

  /**
   * Returns the columns that Hive's reader may read: those of the task, and those that the reader
   * finds itself in the plan, for all aliases of the file.
   */
  private static ColumnChoice columns(FileSplit file, JobConf job) throws IOException {
    Projection ofTask = Projection.of(job);
    if (job.get(PLAN, "").isEmpty()) {
      return ofTask::reads;
    }
    Projection ofPlan =
        Projection.of(
            new ProjectionPusher().pushProjectionsAndFilters(job, file.getPath().getParent()));
    return (schema, path) -> ofTask.reads(schema, path) || ofPlan.reads(schema, path);
  }
}
