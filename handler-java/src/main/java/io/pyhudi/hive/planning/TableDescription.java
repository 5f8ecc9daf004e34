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

/** A table's columns and size, as the pruning service reports them. */
final class TableDescription {
  private static final TableMetadataCache<TableDescription> CACHE =
      new TableMetadataCache<>(
          new TableDescription(Collections.emptyMap(), null),
          request -> request.setDescribeColumns(true).setCountRows(true),
          TableDescription::read);

  private final Map<String, ColumnSummary> columns;
  private final PruneCounts counts;

  private TableDescription(Map<String, ColumnSummary> columns, PruneCounts counts) {
    this.columns = columns;
    this.counts = counts;
  }

  /** Returns the description as of now, empty if the service does not answer. Never fails. */
  static TableDescription of(Configuration conf, Path basePath, PruningSettings settings) {
    return CACHE.of(conf, basePath, settings);
  }

  /** Returns the description, empty if the service does not answer. Never fails. */
  static TableDescription of(HudiTable table, PruningSettings settings) {
    return CACHE.of(table, settings);
  }

  private static TableDescription read(PruneResponse response) {
    List<ColumnSummary> columns = response.getColumns();
    return of(columns == null ? Collections.emptyList() : columns, response.getCounts());
  }

  static TableDescription of(List<ColumnSummary> columns, PruneCounts counts) {
    Map<String, ColumnSummary> byName = new LinkedHashMap<>();
    columns.forEach(column -> byName.put(column.getName().toLowerCase(Locale.ROOT), column));
    return new TableDescription(byName, counts);
  }

  /** Returns the columns by lower-case name. */
  Map<String, ColumnSummary> columns() {
    return columns;
  }

  /** Returns the counts of the table's files and rows; null if unknown. */
  PruneCounts counts() {
    return counts;
  }
}
