package io.pyhudi.hive.read;

import io.pyhudi.hive.planning.GeneratedRows;
import org.apache.hadoop.io.Writable;

/** Reads the rows by which statistics answer a query; they contain long runs of equal rows. */
final class GeneratedRowsReader extends RowReader {
  private final GeneratedRows generated;
  private final Projection projection;
  private final Writable[] current;
  private long given;
  private long endOfRun;

  GeneratedRowsReader(GeneratedRows generated, Projection projection) {
    super(projection.columns());
    this.generated = generated;
    this.projection = projection;
    this.current = new Writable[projection.columns()];
  }

  @Override
  boolean hasNext() {
    return given < generated.rows();
  }

  @Override
  void fill(Writable[] values) {
    if (given == endOfRun) {
      for (int column : projection.projected()) {
        current[column] = generated.value(projection.name(column), projection.type(column), given);
      }
      endOfRun = generated.endOfRun(given);
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
