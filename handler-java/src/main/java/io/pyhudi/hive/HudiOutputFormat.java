package io.pyhudi.hive;

import java.io.IOException;
import java.util.Properties;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.FileSinkOperator;
import org.apache.hadoop.hive.ql.io.HiveOutputFormat;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordWriter;
import org.apache.hadoop.util.Progressable;

/**
 * Refuses every write: a file that Hive writes into a Hudi table would not be part of the table.
 *
 * <p>Hive checks with the storage handler before it plans a write. A table without the storage
 * handler is protected by this class: the tasks fail before they write a row.
 */
public final class HudiOutputFormat implements HiveOutputFormat<NullWritable, ArrayWritable> {
  /** The error message of every refused write. */
  public static final String READ_ONLY =
      "Hudi tables are read-only in Hive; write them with Apache Hudi (Spark, Flink)";

  @Override
  public void checkOutputSpecs(FileSystem ignored, JobConf job) throws IOException {
    throw refusal();
  }

  @Override
  public FileSinkOperator.RecordWriter getHiveRecordWriter(
      JobConf job,
      Path path,
      Class<? extends Writable> valueClass,
      boolean isCompressed,
      Properties table,
      Progressable progress)
      throws IOException {
    throw refusal();
  }

  @Override
  public RecordWriter<NullWritable, ArrayWritable> getRecordWriter(
      FileSystem ignored, JobConf job, String name, Progressable progress) throws IOException {
    throw refusal();
  }

  private static IOException refusal() {
    return new IOException(READ_ONLY);
  }
}
