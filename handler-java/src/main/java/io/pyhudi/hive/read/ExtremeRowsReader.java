package io.pyhudi.hive.read;

import io.pyhudi.hive.planning.ExtremeRows;
import java.util.List;
import org.apache.hadoop.io.Writable;

/** The two rows by which statistics answer a query. */
final class ExtremeRowsReader extends RowReader {
  private static final int ROWS = 2;

  private final ExtremeRows extremes;
  private final Projection projection;
  private int given;

  ExtremeRowsReader(ExtremeRows extremes, Projection projection) {
    super(projection.columns());
    this.extremes = extremes;
    this.projection = projection;
  }

  @Override
  boolean hasNext() {
    return given < ROWS;
  }

  @Override
  void fill(Writable[] values) {
    for (int column : projection.wanted()) {
      List<Writable> ends = extremes.of(projection.name(column), projection.type(column));
      values[column] = ends.isEmpty() ? null : ends.get(given);
    }
    given++;
  }

  @Override
  public void close() {}
}
