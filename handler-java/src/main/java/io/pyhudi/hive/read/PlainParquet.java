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
 * Hive's own Parquet readers without their filter, and with Hudi's calendar.
 *
 * <p>A MapReduce job that reads one file for several aliases leaves the filter of one of them in
 * the configuration, and Hive's readers drop row groups and rows by it. Hive filters every row
 * anyway.
 *
 * <p>Where a file does not name its calendar, Hive 4 takes days before 1582-10-15 for Julian ones.
 * Hudi's are Gregorian, and are so where it merges log files.
 */
final class PlainParquet {
  private static final String GREGORIAN_DAYS = "hive.parquet.date.proleptic.gregorian.default";
  private static final MapredParquetInputFormat HIVE = new MapredParquetInputFormat();

  private PlainParquet() {}

  static RecordReader<NullWritable, ArrayWritable> rows(
      HudiSplit split, JobConf job, Reporter reporter) throws IOException {
    return HIVE.getRecordReader(split.file(), settings(job, false), reporter);
  }

  /** Batches, which Hive passes through the type of rows. */
  static RecordReader<NullWritable, ArrayWritable> batches(
      HudiSplit split, JobConf job, Reporter reporter) throws IOException {
    return HIVE.getRecordReader(split.file(), settings(job, true), reporter);
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
