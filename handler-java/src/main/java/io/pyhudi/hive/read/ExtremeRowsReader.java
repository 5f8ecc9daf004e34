package io.pyhudi.hive.read;

import io.pyhudi.hive.planning.ExtremeRows;
import org.apache.hadoop.io.Writable;

/** The rows by which statistics answer a query; long runs of them are alike. */
final class ExtremeRowsReader extends RowReader {
  private final ExtremeRows extremes;
  private final Projection projection;
  private final Writable[] alike;
  private long given;
  private long endOfAlike;

  ExtremeRowsReader(ExtremeRows extremes, Projection projection) {
    super(projection.columns());
    this.extremes = extremes;
    this.projection = projection;
    this.alike = new Writable[projection.columns()];
  }

  @Override
  boolean hasNext() {
    return given < extremes.rows();
  }

  @Override
  void fill(Writable[] values) {
    if (given == endOfAlike) {
      for (int column : projection.wanted()) {
        alike[column] = extremes.value(projection.name(column), projection.type(column), given);
      }
      endOfAlike = extremes.endOfAlike(given);
    }
    System.arraycopy(alike, 0, values, 0, alike.length);
    given++;
  }

  /** Leaves out rows like the last one, so many at most; returns how many. */
  int skipAlike(int most) {
    int skipped = (int) Math.min(most, endOfAlike - given);
    given += skipped;
    return skipped;
  }

  @Override
  public void close() {}
}
