package io.pyhudi.hive.read;

import java.io.IOException;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.RecordReader;

/** A reader that passes calls on to another one. */
abstract class ForwardingReader<V> implements RecordReader<NullWritable, V> {
  /** The reader that is asked now. */
  abstract RecordReader<NullWritable, V> reader();

  @Override
  public NullWritable createKey() {
    return reader().createKey();
  }

  @Override
  public V createValue() {
    return reader().createValue();
  }

  @Override
  public long getPos() throws IOException {
    return reader().getPos();
  }

  @Override
  public float getProgress() throws IOException {
    return reader().getProgress();
  }

  @Override
  public void close() throws IOException {
    reader().close();
  }
}
