package io.pyhudi.hive.read;

import io.pyhudi.hive.scan.HudiSplit;
import java.io.IOException;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat;
import org.apache.hadoop.hive.ql.io.sarg.ConvertAstToSearchArg;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/**
 * Hive's own Parquet readers.
 *
 * <p>Hive 3.1 pushes the query's filter into them again, so they must not read what is hidden from
 * the query (see {@link SliceReaders}).
 */
final class PlainParquet {
  private static final String GREGORIAN_DAYS = "hive.parquet.date.proleptic.gregorian.default";
  private static final MapredParquetInputFormat HIVE = new MapredParquetInputFormat();

  private PlainParquet() {}

  static RecordReader<NullWritable, ArrayWritable> rows(
      HudiSplit split, HiddenRows hidden, JobConf job, Reporter reporter) throws IOException {
    return open(split, hidden, settings(job, false), reporter);
  }

  /** Opens a reader of batches, which Hive passes through the type of rows. */
  static RecordReader<NullWritable, ArrayWritable> batches(
      HudiSplit split, HiddenRows hidden, JobConf job, Reporter reporter) throws IOException {
    return open(split, hidden, settings(job, true), reporter);
  }

  private static RecordReader<NullWritable, ArrayWritable> open(
      HudiSplit split, HiddenRows hidden, JobConf job, Reporter reporter) throws IOException {
    return PlainFiles.open(
        split,
        hidden,
        job,
        reporter,
        (file, settings) -> HIVE.getRecordReader(file, settings, reporter));
  }

  private static JobConf settings(JobConf job, boolean vectorized) {
    JobConf copy = new JobConf(job);
    copy.unset(TableScanDesc.FILTER_EXPR_CONF_STR);
    copy.unset(ConvertAstToSearchArg.SARG_PUSHDOWN);
    copy.setBoolean(GREGORIAN_DAYS, true);
    copy.setBoolean(Utilities.VECTOR_MODE, vectorized);
    return copy;
  }
}
