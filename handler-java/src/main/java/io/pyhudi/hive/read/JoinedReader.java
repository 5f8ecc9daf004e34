package io.pyhudi.hive.read;

import java.io.IOException;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.RecordReader;

/** Reads the rows of one reader, and then those of another. */
final class JoinedReader<V> extends ForwardingReader<V> {
  private final Opener<V> second;
  private RecordReader<NullWritable, V> current;
  private boolean isSecond;

  /**
   * @param second opened when the first one has ended
   */
  JoinedReader(RecordReader<NullWritable, V> first, Opener<V> second) {
    this.current = first;
    this.second = second;
  }

  interface Opener<V> {
    RecordReader<NullWritable, V> open() throws IOException;
  }

  @Override
  public boolean next(NullWritable key, V value) throws IOException {
    if (current.next(key, value)) {
      return true;
    }
    if (isSecond) {
      return false;
    }
    RecordReader<NullWritable, V> first = current;
    current = second.open();
    isSecond = true;
    first.close();
    return current.next(key, value);
  }

  @Override
  RecordReader<NullWritable, V> reader() {
    return current;
  }
}
