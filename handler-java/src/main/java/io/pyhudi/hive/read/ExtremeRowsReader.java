package io.pyhudi.hive.read;

import io.pyhudi.hive.planning.ExtremeRows;
import java.util.List;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.RecordReader;

/** The two rows by which statistics answer a query, as Hive's Parquet rows. */
final class ExtremeRowsReader implements RecordReader<NullWritable, ArrayWritable> {
  private static final int ROWS = 2;

  private final ExtremeRows extremes;
  private final Projection projection;
  private int given;

  ExtremeRowsReader(ExtremeRows extremes, Projection projection) {
    this.extremes = extremes;
    this.projection = projection;
  }

  @Override
  public boolean next(NullWritable key, ArrayWritable row) {
    if (given == ROWS) {
      return false;
    }
    Writable[] values = new Writable[projection.columns()];
    for (int column : projection.wanted()) {
      List<Writable> ends = extremes.of(projection.name(column), projection.type(column));
      values[column] = ends.isEmpty() ? null : ends.get(given);
    }
    row.set(values);
    given++;
    return true;
  }

  @Override
  public NullWritable createKey() {
    return NullWritable.get();
  }

  @Override
  public ArrayWritable createValue() {
    return new ArrayWritable(Writable.class, new Writable[projection.columns()]);
  }

  @Override
  public long getPos() {
    return given;
  }

  @Override
  public float getProgress() {
    return (float) given / ROWS;
  }

  @Override
  public void close() {}
}
