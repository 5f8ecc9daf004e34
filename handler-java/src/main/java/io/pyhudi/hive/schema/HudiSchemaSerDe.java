package io.pyhudi.hive.schema;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.metadata.MetadataRequests;
import io.pyhudi.hive.metadata.MetadataView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe;
import org.apache.hadoop.hive.serde.serdeConstants;
import org.apache.hadoop.hive.serde2.SerDeException;

/**
 * ParquetHiveSerDe that takes the columns from the Hudi table at the table's location when the
 * statement names none. It serves while a table is created; the table is stored with
 * ParquetHiveSerDe and its columns, as Hudi's own Hive tables are.
 */
public final class HudiSchemaSerDe extends ParquetHiveSerDe {
  @Override
  public void initialize(Configuration conf, Properties table, Properties partition)
      throws SerDeException {
    super.initialize(conf, withColumns(conf, table), partition);
  }

  private static Properties withColumns(Configuration conf, Properties table)
      throws SerDeException {
    String location = table.getProperty(hive_metastoreConstants.META_TABLE_LOCATION, "");
    if (!table.getProperty(serdeConstants.LIST_COLUMNS, "").isEmpty()) {
      return table;
    }
    if (location.isEmpty()) {
      throw new SerDeException("a Hudi table needs LOCATION, the path of the existing table");
    }
    try {
      List<String> names = new ArrayList<>();
      List<String> types = new ArrayList<>();
      for (FieldSchema column : columns(conf, new Path(location), table)) {
        names.add(column.getName());
        types.add(column.getType());
      }
      Properties completed = new Properties();
      completed.putAll(table);
      completed.setProperty(serdeConstants.LIST_COLUMNS, String.join(",", names));
      completed.setProperty(serdeConstants.LIST_COLUMN_TYPES, String.join(":", types));
      return completed;
    } catch (IOException | IllegalArgumentException e) {
      throw new SerDeException(e.getMessage(), e);
    }
  }

  private static List<FieldSchema> columns(Configuration conf, Path location, Properties table)
      throws IOException {
    MetadataView view = MetadataView.of(location, table.getProperty(MetadataView.PROPERTY));
    return view == null
        ? TableColumns.of(conf, location).columns()
        : MetadataRequests.columns(view, PruningSettings.ofTable(table));
  }
}
