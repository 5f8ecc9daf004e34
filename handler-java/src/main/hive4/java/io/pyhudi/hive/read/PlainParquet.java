package io.pyhudi.hive.read;

import io.pyhudi.hive.scan.HudiSplit;
import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.ql.io.parquet.read.DataWritableReadSupport;
import org.apache.hadoop.hive.ql.io.parquet.read.ParquetRecordReaderWrapper;
import org.apache.hadoop.hive.ql.io.parquet.vector.VectorizedParquetRecordReader;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;

/**
 * Hive's own Parquet readers without their filter, and with Hudi's calendar.
 *
 * <p>A MapReduce job that reads one file for several aliases leaves the filter of one of them in
 * the configuration, and Hive's readers drop row groups and rows by it. Hive filters every row
 * anyway.
 *
 * <p>If a file does not name its calendar, Hive reads days before 1582-10-15 as Julian. Hudi writes
 * and merges Gregorian ones.
 */
final class PlainParquet {
  private PlainParquet() {}

  static RecordReader<NullWritable, ArrayWritable> rows(
      HudiSplit split, HiddenRows hidden, JobConf job, Reporter reporter) throws IOException {
    return PlainFiles.open(
        split,
        hidden,
        job,
        reporter,
        (file, settings) -> open(file, settings == job ? new JobConf(job) : settings, reporter));
  }

  /**
   * @param ofReader the configuration of this reader alone
   */
  private static Rows open(FileSplit file, JobConf ofReader, Reporter reporter) throws IOException {
    HiveConf.setBoolVar(ofReader, ConfVars.HIVE_PARQUET_DATE_PROLEPTIC_GREGORIAN_DEFAULT, true);
    try {
      return new Rows(file, ofReader, reporter);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while opening " + file.getPath(), e);
    }
  }

  /** Opens a reader of batches, which Hive passes through the type of rows. */
  static RecordReader<NullWritable, ArrayWritable> batches(
      HudiSplit split, HiddenRows hidden, JobConf job, Reporter reporter) throws IOException {
    return SliceReaders.asRows(PlainFiles.open(split, hidden, job, reporter, Batches::new));
  }

  private static final class Rows extends ParquetRecordReaderWrapper {
    Rows(FileSplit split, JobConf job, Reporter reporter) throws IOException, InterruptedException {
      super(new ParquetInputFormat<>(DataWritableReadSupport.class), split, job, reporter);
    }

    /**
     * Reads the next row. Tez passes all readers of a task the row that the first of them made; if
     * that one merges, its row has the partition columns of the metastore, too.
     */
    @Override
    public boolean next(NullWritable key, ArrayWritable row) throws IOException {
      int columns = createValue().get().length;
      if (row.get().length != columns) {
        row.set(new Writable[columns]);
      }
      return super.next(key, row);
    }

    @Override
    public FilterCompat.Filter setFilter(JobConf job, MessageType schema) {
      return null;
    }
  }

  /**
   * Sets the calendar in itself: a copy of the job's configuration takes an eighth of the time that
   * a small file takes.
   */
  private static final class Batches extends VectorizedParquetRecordReader {
    Batches(FileSplit split, JobConf job) throws IOException {
      super(split, job, null, null, (Configuration) null);
    }

    @Override
    protected void setupMetadataAndParquetSplit(JobConf job, ParquetMetadata known)
        throws IOException {
      super.setupMetadataAndParquetSplit(job, known);
      if (parquetMetadata == null) {
        return; // a split of no bytes
      }
      Map<String, String> named = parquetMetadata.getFileMetaData().getKeyValueMetaData();
      if (DataWritableReadSupport.getWriterDateProleptic(named) == null) {
        skipProlepticConversion = true;
      }
    }

    @Override
    public FilterCompat.Filter setFilter(JobConf job, MessageType schema) {
      return null;
    }
  }
}
