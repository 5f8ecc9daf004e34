package io.pyhudi.hive.schema;

import io.pyhudi.hive.HudiCopyOnWriteInputFormat;
import io.pyhudi.hive.HudiMergeOnReadInputFormat;
import io.pyhudi.hive.HudiOutputFormat;
import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.metadata.FileRights;
import io.pyhudi.hive.metadata.MetadataRequests;
import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.metadata.ViewGrants;
import io.pyhudi.hive.metastore.TableData;
import io.pyhudi.hive.version.HiveVersion;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.DefaultHiveMetaHook;
import org.apache.hadoop.hive.metastore.TableType;
import org.apache.hadoop.hive.metastore.api.EnvironmentContext;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.StorageDescriptor;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe;

/**
 * Checks that a table is created and altered in the metastore only in accordance with the Hudi
 * table.
 */
public final class HudiMetaHook extends DefaultHiveMetaHook {
  private static final Set<String> ALLOWED =
      new HashSet<>(Arrays.asList("ADDPROPS", "DROPPROPS", "ADDCOLS"));

  private final Configuration conf;

  public HudiMetaHook(Configuration conf) {
    this.conf = conf;
  }

  @Override
  public void preCreateTable(Table table) throws MetaException {
    if (!TableType.EXTERNAL_TABLE.name().equals(table.getTableType())) {
      throw refuse(
          table, "Hudi tables can only be EXTERNAL: CREATE EXTERNAL TABLE ... LOCATION '...'");
    }
    refuseProperties(table);
    refuseDeletion(table);
    if (table.getPartitionKeysSize() > 0) {
      throw refuse(
          table, "PARTITIONED BY needs Hive 4; in Hive 3.1 partition columns are plain columns");
    }
    StorageDescriptor storage = table.getSd();
    if (storage.getLocation() == null) {
      throw refuse(table, "a Hudi table needs LOCATION, the path of the existing table");
    }
    storage.getSerdeInfo().setSerializationLib(ParquetHiveSerDe.class.getName());
    storage.setOutputFormat(HudiOutputFormat.class.getName());
    MetadataView view = view(table);
    if (view != null) {
      requireRights(table, view);
      storage.setInputFormat(HudiMergeOnReadInputFormat.class.getName());
      storage.setLocation(view.location().toString());
      storage.setCols(declared(table, view));
      return;
    }
    TableColumns columns = columns(table);
    check(table, columns);
    storage.setInputFormat(
        columns.isCopyOnWrite()
            ? HudiCopyOnWriteInputFormat.class.getName()
            : HudiMergeOnReadInputFormat.class.getName());
  }

  /** Whoever makes a view needs the right to read the table, and to make one of its directory. */
  private void requireRights(Table table, MetadataView view) throws MetaException {
    try {
      FileRights rights = new FileRights(conf, view.basePath());
      rights.requireTable();
      Optional<ViewGrants> grants = ViewGrants.ofSession();
      if (grants.isPresent()) {
        grants.get().requireLocation(view, rights.tableDirectory());
      }
    } catch (IOException | SecurityException e) {
      throw refuse(table, e.getMessage());
    }
  }

  private static MetadataView view(Table table) throws MetaException {
    try {
      Path location = new Path(table.getSd().getLocation());
      return MetadataView.of(location, table.getParameters().get(MetadataView.PROPERTY));
    } catch (IllegalArgumentException e) {
      throw refuse(table, e.getMessage());
    }
  }

  /**
   * Returns the declared columns of a view, with the comments that the service has for them. Those
   * that it knows may be missing: a view may be older than the service.
   */
  private List<FieldSchema> declared(Table table, MetadataView view) throws MetaException {
    Map<String, FieldSchema> known = new LinkedHashMap<>();
    Properties properties = new Properties();
    properties.putAll(table.getParameters());
    try {
      MetadataRequests.columns(view, PruningSettings.ofTable(properties))
          .forEach(column -> known.put(column.getName(), column));
    } catch (IOException e) {
      throw refuse(table, e.getMessage());
    }
    List<FieldSchema> columns = new ArrayList<>();
    for (FieldSchema column : table.getSd().getCols()) {
      FieldSchema found = known.get(column.getName().toLowerCase(Locale.ROOT));
      if (found == null || !found.getType().equalsIgnoreCase(column.getType())) {
        throw refuse(
            table,
            "the "
                + view
                + " has no column "
                + column.getName()
                + " "
                + column.getType()
                + ". Leave the columns out, they are taken from the pruning service");
      }
      columns.add(found);
    }
    return columns;
  }

  private TableColumns columns(Table table) throws MetaException {
    try {
      return TableColumns.of(conf, new Path(table.getSd().getLocation()));
    } catch (IOException e) {
      throw refuse(table, e.getMessage());
    }
  }

  private static void check(Table table, TableColumns columns) throws MetaException {
    String problem = columns.problemWith(table.getSd().getCols());
    if (problem != null) {
      String statement =
          columns.statement(
              table.getDbName() + "." + table.getTableName(),
              table.getParameters().get(hive_metastoreConstants.META_TABLE_STORAGE),
              table.getSd().getLocation());
      throw refuse(
          table,
          problem + ". Leave the columns out, they are taken from the table, or:\n" + statement);
    }
  }

  @Override
  public void preAlterTable(Table table, EnvironmentContext context) throws MetaException {
    Map<String, String> properties = context == null ? null : context.getProperties();
    String operation = properties == null ? null : properties.get(ALTER_TABLE_OPERATION_TYPE);
    // Before anything else: whatever changes a table, also without naming an operation.
    refuseProperties(table);
    refuseDeletion(table);
    if (operation == null) {
      return;
    }
    if (!ALLOWED.contains(operation)) {
      throw refuse(
          table,
          "ALTER TABLE "
              + operation
              + " would not change the Hudi table; change it with Apache Hudi, then DROP TABLE and"
              + " CREATE EXTERNAL TABLE again (the data stays)");
    }
    MetadataView view = viewAsCreated(table);
    if (operation.equals("ADDCOLS")) {
      if (view == null) {
        check(table, columns(table));
      } else {
        table.getSd().setCols(declared(table, view));
      }
    }
  }

  private static MetadataView viewAsCreated(Table table) throws MetaException {
    MetadataView view = view(table);
    if (view != null && !view.location().equals(new Path(table.getSd().getLocation()))) {
      throw refuse(
          table, "a table cannot become a " + view + "; CREATE EXTERNAL TABLE with another name");
    }
    return view;
  }

  private static void refuseDeletion(Table table) throws MetaException {
    String reason = TableData.deletedBy(table);
    if (reason != null) {
      throw refuse(table, reason + ", so DROP TABLE would delete the Hudi table's data");
    }
  }

  private static void refuseProperties(Table table) throws MetaException {
    if (!HiveVersion.keepsTablesApart()
        && table.getParameters().containsKey(PruningSettings.AS_OF)) {
      throw refuse(
          table,
          PruningSettings.AS_OF
              + " of a table needs Hive 4: a map join in Hive 3.1 would read the newest state of"
              + " the same table as of then, too; SET it in the session");
    }
  }

  private static MetaException refuse(Table table, String reason) {
    return new MetaException(
        "Hudi table " + table.getDbName() + "." + table.getTableName() + ": " + reason);
  }

  /** Refuses a write. Hive 4 refuses earlier; Hive 3.1 has only this hook. */
  @Override
  public void preInsertTable(Table table, boolean overwrite) throws MetaException {
    throw refuse(table, HudiOutputFormat.READ_ONLY);
  }

  @Override
  public void rollbackInsertTable(Table table, boolean overwrite) {
    // Nothing was written.
  }

  @Override
  public void commitInsertTable(Table table, boolean overwrite) throws MetaException {
    throw refuse(table, HudiOutputFormat.READ_ONLY);
  }

  @Override
  public void rollbackCreateTable(Table table) {
    // Nothing was created.
  }

  @Override
  public void commitCreateTable(Table table) {
    // The metastore has removed it.
  }

  /** Hive 4 asks this before TRUNCATE of a managed table, of which nothing else is announced. */
  public void preTruncateTable(Table table, EnvironmentContext context, List<String> partitions)
      throws MetaException {
    throw refuse(table, HudiOutputFormat.READ_ONLY);
  }

  @Override
  public void preDropTable(Table table) throws MetaException {
    String reason = TableData.deletedBy(table);
    if (reason != null) {
      throw refuse(
          table,
          reason
              + ", so this would delete the Hudi table's data; ALTER TABLE ... SET TBLPROPERTIES"
              + " ('EXTERNAL'='TRUE', 'external.table.purge'='false') first");
    }
  }

  @Override
  public void rollbackDropTable(Table table) {
    // Nothing was removed.
  }

  @Override
  public void commitDropTable(Table table, boolean deleteData) {
    // The data stays.
  }
}
