package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.ReadingStorageHandler;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.predicate.DynamicPruning;
import io.pyhudi.hive.version.AsOfClause;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;

/** A table in the state that a query reads, and what its indexes say of it. */
public final class QueriedTable {
  private final Table table;
  private final Configuration conf;

  /**
   * @param table null for a scan of no table
   * @param conf the configuration of the query
   */
  public QueriedTable(Table table, Configuration conf) {
    this.table = table;
    this.conf = conf;
  }

  /** Returns whether this is a table of the handler, and not a view of its metadata. */
  boolean isRead() {
    return table != null
        && table.getStorageHandler() instanceof ReadingStorageHandler
        && MetadataView.of(table.getPath()) == null;
  }

  /** Returns the settings with which the query reads a table of the handler. */
  public PruningSettings settings() {
    PruningSettings settings = PruningSettings.ofTable(table.getMetadata());
    return settings.asReadBy(table.getSd().getInputFormat()).asOf(AsOfClause.of(table, conf));
  }

  /** Returns its numbers of rows and bytes, unknown ones of other tables. */
  public TableRows rows() {
    return isRead() ? TableRows.of(conf, table.getPath(), settings()) : TableRows.unknown();
  }

  /** Returns its column statistics; empty ones of other tables. */
  public ColumnStatistics statistics() {
    return isRead()
        ? ColumnStatistics.of(conf, table.getPath(), settings())
        : ColumnStatistics.none();
  }

  /**
   * Returns whether the keys of a join may exclude files: not if the column's values are in most
   * files.
   *
   * @param condition that {@link DynamicPruning#mayRestrict} accepts
   */
  public boolean mayBePrunedBy(ExprNodeDesc condition) {
    return isRead()
        && settings().joins()
        && !statistics().keepsMostFiles(DynamicPruning.columnOf(condition));
  }
}
