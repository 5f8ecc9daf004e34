package io.pyhudi.hive.read;

import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.RecordReader;

/** A base reader of rows in the format of Hive's Parquet reader: one value for each column. */
abstract class RowReader implements RecordReader<NullWritable, ArrayWritable> {
  private final int columns;
  private long rows;

  RowReader(int columns) {
    this.columns = columns;
  }

  /** Returns whether {@link #fill} has another row. */
  abstract boolean hasNext();

  /** Sets the values of the next row; values that are not set are NULL. */
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
