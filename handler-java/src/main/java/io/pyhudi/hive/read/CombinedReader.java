package io.pyhudi.hive.read;

import io.pyhudi.hive.scan.HudiSplit;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/**
 * Reads several splits, one after the other. At most one of them is open.
 *
 * @param <V> rows, or batches of them: Hive passes these through the type of rows, too
 */
public final class CombinedReader<V> extends ForwardingReader<V> {
  private final JobConf job;
  private final Reporter reporter;
  private final int parts;
  private final Iterator<HudiSplit> left;
  private RecordReader<NullWritable, V> current;
  private int opened;

  private CombinedReader(List<HudiSplit> splits, JobConf job, Reporter reporter) {
    this.job = job;
    this.reporter = reporter;
    this.parts = splits.size();
    this.left = splits.iterator();
  }

  /** Opens a reader of at least one split. */
  public static RecordReader<NullWritable, ArrayWritable> open(
      List<HudiSplit> splits, JobConf job, Reporter reporter) throws IOException {
    CombinedReader<ArrayWritable> reader = new CombinedReader<>(splits, job, reporter);
    reader.openNext();
    return reader;
  }

  @SuppressWarnings("unchecked")
  private void openNext() throws IOException {
    HudiSplit split = left.next();
    split.count(reporter);
    current = (RecordReader<NullWritable, V>) SliceReaders.open(split, job, reporter);
    opened++;
  }

  @Override
  public boolean next(NullWritable key, V value) throws IOException {
    while (!current.next(key, value)) {
      if (!left.hasNext()) {
        return false;
      }
      current.close();
      openNext();
    }
    return true;
  }

  @Override
  public float getProgress() throws IOException {
    return (opened - 1 + current.getProgress()) / parts;
  }

  @Override
  RecordReader<NullWritable, V> reader() {
    return current;
  }
}
