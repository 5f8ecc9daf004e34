package io.pyhudi.hive.read;

import io.pyhudi.hive.metadata.MetadataRows;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.hadoop.io.Writable;

/** Reads the rows of a metadata view from its split. */
final class MetadataRowsReader extends RowReader {
  private final int size;
  private final Map<Integer, IntFunction<Writable>> columns = new LinkedHashMap<>();
  private int next;

  MetadataRowsReader(MetadataRows rows, Projection projection) throws IOException {
    super(projection.columns());
    size = rows.size();
    for (int column : projection.projected()) {
      columns.put(column, rows.values(projection.name(column), projection.type(column)));
    }
  }

  @Override
  boolean hasNext() {
    return next < size;
  }

  @Override
  void fill(Writable[] values) {
    columns.forEach((column, value) -> values[column] = value.apply(next));
    next++;
  }

  @Override
  public void close() {}
}
