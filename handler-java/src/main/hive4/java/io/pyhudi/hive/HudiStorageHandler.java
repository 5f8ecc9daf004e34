package io.pyhudi.hive;

import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.metadata.ViewBehindTable;
import io.pyhudi.hive.planning.LimitHook;
import io.pyhudi.hive.planning.PlannedKeys;
import io.pyhudi.hive.planning.QueriedTable;
import io.pyhudi.hive.planning.ScansApart;
import io.pyhudi.hive.planning.StatesOfQuery;
import io.pyhudi.hive.planning.TableRows;
import io.pyhudi.hive.predicate.DynamicPruning;
import io.pyhudi.hive.predicate.JoinKeys;
import io.pyhudi.hive.predicate.NullKeys;
import io.pyhudi.hive.scan.ExplainedScan;
import io.pyhudi.hive.table.HudiTable;
import io.pyhudi.hive.table.TableSize;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.common.StatsSetupConst;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.ColumnStatisticsObj;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.ddl.table.AlterTableType;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.FileSinkDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.session.SessionStateUtil;
import org.apache.hadoop.hive.ql.stats.Partish;

/**
 * The storage handler for Hive 4, which reads an existing Hudi table:
 *
 * <pre>
 * CREATE EXTERNAL TABLE t STORED BY 'io.pyhudi.hive.HudiStorageHandler' LOCATION '/path/of/table'
 * </pre>
 *
 * The filter of each scan is sent to the pruning service; Hive filters the rows again.
 *
 * <p>It is compiled with Hive 4.0. Methods that later versions added have no {@code @Override}.
 */
public final class HudiStorageHandler extends ReadingStorageHandler {
  /** What the last {@link #canComputeQueryUsingStats(Partish)} has promised. */
  private TableRows promised;

  /**
   * Returns the URI for authorisation by location (Ranger's storage handler policies): {@code
   * hudi://AUTHORITY/PATH} of the table's location.
   *
   * <p>For CREATE TABLE Hive passes a table without a location; the location is in the query's
   * state.
   */
  @Override
  public URI getURIForAuth(org.apache.hadoop.hive.metastore.api.Table table)
      throws URISyntaxException {
    String written = table.getSd().getLocation();
    if (written == null) {
      // The location is unknown: require permission for every location.
      written =
          SessionStateUtil.getProperty(getConf(), hive_metastoreConstants.META_TABLE_LOCATION)
              .orElse("/");
    }
    URI location = new Path(written).toUri();
    return new URI("hudi", location.getAuthority(), location.getPath(), null, null);
  }

  /**
   * Treats PARTITIONED BY columns as ordinary columns: Hudi, not the metastore, manages the
   * partitions.
   */
  @Override
  public boolean alwaysUnpartitioned() {
    return true;
  }

  /**
   * Replaces {@link #alwaysUnpartitioned} since Hive 4.1. By {@code isPartitioned}, which returns
   * false, Hive then takes the table for unpartitioned.
   */
  public boolean supportsPartitioning() {
    return true;
  }

  @Override
  public List<FieldSchema> getPartitionKeys(Table table) {
    return Collections.emptyList();
  }

  /** Allows {@code FOR SYSTEM_TIME AS OF} and {@code FOR SYSTEM_VERSION AS OF}. */
  @Override
  public boolean isTimeTravelAllowed() {
    StatesOfQuery.named();
    return true;
  }

  /** Hive asks this of each table that it scans. There are no snapshots of Hive's own. */
  @Override
  public boolean areSnapshotsSupported() {
    StatesOfQuery.scanned();
    return false;
  }

  /** Hive asks this of each table that a query reads, as the last question about its plan. */
  @Override
  public void configureInputJobProperties(TableDesc table, Map<String, String> properties) {
    super.configureInputJobProperties(table, properties);
    LimitHook.add();
  }

  /** Allows metadata views behind a table's name, {@code db.t.files}. */
  @Override
  public boolean isTableMetaRefSupported() {
    return true;
  }

  @Override
  public Table checkAndSetTableMetaRef(Table table, String name) throws SemanticException {
    return ViewBehindTable.of(table, name);
  }

  @Override
  public boolean canProvideBasicStatistics() {
    return true;
  }

  @Override
  public Map<String, String> getBasicStatistics(Partish partish) {
    Table table = partish.getTable();
    if (view(table) != null) {
      return view(table).sizeEstimate();
    }
    PruningSettings settings = queried(table).settings();
    // Before the table is opened here, too, which may take as long.
    Announcements.ofTable(table.getPath(), settings);
    HudiTable.requireState(getConf(), table.getPath(), settings);
    TableRows counted = promised == null ? queried(table).rows() : promised;
    promised = null;
    Map<String, String> statistics = counted.size();
    if (statistics == null) {
      statistics = new HashMap<>(TableSize.statistics(getConf(), table.getPath(), settings));
    }
    if (counted.isKnown()) {
      statistics.put(StatsSetupConst.ROW_COUNT, Long.toString(counted.rows()));
    }
    return statistics;
  }

  /** The statistics that ANALYZE TABLE stores since Hive 4.1. */
  public Map<String, String> computeBasicStatistics(Partish partish) {
    return getBasicStatistics(partish);
  }

  /**
   * Returns whether column statistics come from the index for each query.
   *
   * <p>The statistics that ANALYZE TABLE stored in the metastore may be outdated, and Hive would
   * answer queries by them. They are cleared in the table object of this query.
   */
  @Override
  public boolean canProvideColStatistics(Table table) {
    StatsSetupConst.clearColumnStatsState(table.getParameters());
    PruningSettings settings = queried(table).settings();
    Announcements.ofTable(table.getPath(), settings);
    return view(table) == null && settings.enabled();
  }

  @Override
  public List<ColumnStatisticsObj> getColStatistics(Table table) {
    TableRows counted = queried(table).rows();
    if (!counted.isKnown()) {
      // Not an immutable list: Hive adds its own estimates.
      return new ArrayList<>();
    }
    double distinctShare =
        HiveConf.getFloatVar(getConf(), HiveConf.ConfVars.HIVE_STATS_NDV_ESTIMATE_PERC) / 100;
    return queried(table).statistics().of(table.getCols(), counted.rows(), distinctShare);
  }

  /**
   * Returns the statistics of some columns, since Hive 4.2.
   *
   * @param columns their names; null for all columns
   */
  public List<ColumnStatisticsObj> getColStatistics(Table table, List<String> columns) {
    return getColStatistics(table).stream()
        .filter(column -> columns == null || columns.contains(column.getColName()))
        .collect(Collectors.toCollection(ArrayList::new));
  }

  /**
   * Returns whether the number of rows may answer count(*). Hive 4.0 then reads it, and nothing
   * else, from the parameters of this query's table object.
   */
  @Override
  public boolean canComputeQueryUsingStats(Table table) {
    return answering(table) != null;
  }

  /** The same since Hive 4.1, which then reads {@link #getBasicStatistics}. */
  public boolean canComputeQueryUsingStats(Partish partish) {
    // Counted again, the table might have changed, and the number might be an upper bound.
    promised = answering(partish.getTable());
    return promised != null;
  }

  /**
   * Returns the number of rows if it is exact, else null. It is the only statistic of the table
   * object that is left to answer queries.
   */
  private TableRows answering(Table table) {
    TableRows counted = queried(table).rows();
    Map<String, String> parameters = table.getParameters();
    StatsSetupConst.clearColumnStatsState(parameters);
    if (!counted.isExact()) {
      return null;
    }
    parameters.put(StatsSetupConst.ROW_COUNT, Long.toString(counted.rows()));
    StatsSetupConst.setBasicStatsState(parameters, StatsSetupConst.TRUE);
    return counted;
  }

  private static MetadataView view(Table table) {
    return MetadataView.of(table.getPath());
  }

  private QueriedTable queried(Table table) {
    return new QueriedTable(table, getConf());
  }

  /**
   * Returns whether Tez delays the table's splits until the other side of a join has sent its keys,
   * which then are in the scan's filter. Returns false if the keys would exclude few files, or if
   * they are in the filter already.
   */
  @Override
  public boolean addDynamicSplitPruningEdge(Table table, ExprNodeDesc condition) {
    if (!DynamicPruning.mayRestrict(table, condition) || PlannedKeys.restrict(table, condition)) {
      return false;
    }
    boolean isRestricted =
        queried(table).mayBePrunedBy(condition)
            && (!DynamicPruning.isScannedAgain(table, condition)
                || ScansApart.keep(table, condition))
            && NullKeys.replace(condition);
    if (isRestricted) {
      JoinKeys.nameIn(condition);
    }
    return isRestricted;
  }

  /** Adds the pruning result to EXPLAIN; it sends the same request as a scan. */
  @Override
  public Map<String, String> getOperatorDescProperties(
      OperatorDesc operator, Map<String, String> properties) {
    if (!(operator instanceof TableScanDesc)) {
      return properties;
    }
    return ExplainedScan.properties(getConf(), (TableScanDesc) operator, properties);
  }

  @Override
  public boolean isAllowedAlterOperation(AlterTableType operation) {
    return operation == AlterTableType.ADDPROPS
        || operation == AlterTableType.DROPPROPS
        || operation == AlterTableType.ADDCOLS;
  }

  @Override
  public void validateSinkDesc(FileSinkDesc sink) throws SemanticException {
    throw new SemanticException(HudiOutputFormat.READ_ONLY);
  }
}
