package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.table.HudiTable;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** A table's columns and size, as the pruning service describes them. */
final class Described {
  private static final WholeTable<Described> DESCRIBED =
      new WholeTable<>(
          new Described(Collections.emptyMap(), null),
          request -> request.setDescribeColumns(true).setCountRows(true),
          Described::read);

  private final Map<String, ColumnSummary> columns;
  private final PruneCounts counts;

  private Described(Map<String, ColumnSummary> columns, PruneCounts counts) {
    this.columns = columns;
    this.counts = counts;
  }

  /** The table as of now, of which nothing may be known; never fails. */
  static Described of(Configuration conf, Path basePath, PruningSettings settings) {
    return DESCRIBED.of(conf, basePath, settings);
  }

  /** The table, of which nothing may be known; never fails. */
  static Described of(HudiTable table, PruningSettings settings) {
    return DESCRIBED.of(table, settings);
  }

  private static Described read(PruneResponse response) {
    List<ColumnSummary> columns = response.getColumns();
    return of(columns == null ? Collections.emptyList() : columns, response.getCounts());
  }

  static Described of(List<ColumnSummary> columns, PruneCounts counts) {
    Map<String, ColumnSummary> byName = new LinkedHashMap<>();
    columns.forEach(column -> byName.put(column.getName().toLowerCase(Locale.ROOT), column));
    return new Described(byName, counts);
  }

  /** By their names in lower case. */
  Map<String, ColumnSummary> columns() {
    return columns;
  }

  /** The files and rows of the table; null: not known. */
  PruneCounts counts() {
    return counts;
  }
}
