package io.pyhudi.hive.read;

import io.pyhudi.hive.planning.ExtremeRows;
import org.apache.hadoop.io.Writable;

/** Reads the rows by which statistics answer a query; they contain long runs of equal rows. */
final class ExtremeRowsReader extends RowReader {
  private final ExtremeRows extremes;
  private final Projection projection;
  private final Writable[] current;
  private long given;
  private long endOfRun;

  ExtremeRowsReader(ExtremeRows extremes, Projection projection) {
    super(projection.columns());
    this.extremes = extremes;
    this.projection = projection;
    this.current = new Writable[projection.columns()];
  }

  @Override
  boolean hasNext() {
    return given < extremes.rows();
  }

  @Override
  void fill(Writable[] values) {
    if (given == endOfRun) {
      for (int column : projection.projected()) {
        current[column] = extremes.value(projection.name(column), projection.type(column), given);
      }
      endOfRun = extremes.endOfRun(given);
    }
    System.arraycopy(current, 0, values, 0, current.length);
    given++;
  }

  /** Skips up to a number of rows that equal the last one; returns how many it skipped. */
  int skipEqualRows(int most) {
    int skipped = (int) Math.min(most, endOfRun - given);
    given += skipped;
    return skipped;
  }

  @Override
  public void close() {}
}
