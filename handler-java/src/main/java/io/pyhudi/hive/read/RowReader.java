package io.pyhudi.hive.read;

import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.RecordReader;

/** Rows as Hive's Parquet reader gives them, from elsewhere: one value for each of its columns. */
abstract class RowReader implements RecordReader<NullWritable, ArrayWritable> {
  private final int columns;
  private long rows;

  RowReader(int columns) {
    this.columns = columns;
  }

  /** Whether {@link #fill} has another row. */
  abstract boolean hasNext();

  /** Sets what is known of the next row; the other values are NULL. */
  abstract void fill(Writable[] values);

  @Override
  public final boolean next(NullWritable key, ArrayWritable row) {
    if (!hasNext()) {
      return false;
    }
    Writable[] values = new Writable[columns];
    fill(values);
    row.set(values);
    rows++;
    return true;
  }

  @Override
  public final NullWritable createKey() {
    return NullWritable.get();
  }

  @Override
  public final ArrayWritable createValue() {
    return new ArrayWritable(Writable.class, new Writable[columns]);
  }

  @Override
  public final long getPos() {
    return rows;
  }

  @Override
  public final float getProgress() {
    return 0;
  }
}
