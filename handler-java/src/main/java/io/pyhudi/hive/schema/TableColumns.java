package io.pyhudi.hive.schema;

import io.pyhudi.hive.table.HudiTable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.apache.avro.Schema;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hudi.common.model.HoodieFileFormat;
import org.apache.hudi.common.model.HoodieTableType;
import org.apache.hudi.common.table.HoodieTableConfig;

/**
 * A Hudi table's columns as Hive has to declare them, meta columns and partition columns included.
 */
final class TableColumns {
  private final List<FieldSchema> columns;
  private final List<String> partitionColumns;
  private final boolean copyOnWrite;

  TableColumns(List<FieldSchema> columns, List<String> partitionColumns, boolean copyOnWrite) {
    this.columns = Collections.unmodifiableList(columns);
    this.partitionColumns = partitionColumns;
    this.copyOnWrite = copyOnWrite;
  }

  /**
   * Reads the columns from the table.
   *
   * @throws IOException with the reason, if the location is not a readable table
   */
  static TableColumns of(Configuration conf, Path location) throws IOException {
    if (!HudiTable.isBasePath(conf, location)) {
      throw new IOException(explainLocation(conf, location));
    }
    HudiTable table = HudiTable.ofQuery(conf, location);
    HoodieTableConfig config = table.metaClient().getTableConfig();
    if (config.getBaseFileFormat() != HoodieFileFormat.PARQUET) {
      throw new IOException(
          location + ": base files are " + config.getBaseFileFormat() + ", not Parquet");
    }
    if (config.shouldDropPartitionColumns()) {
      throw new IOException(
          location
              + ": its files do not hold the partition columns"
              + " (hoodie.datasource.write.drop.partition.columns); register it with partitions in"
              + " the metastore and set the input format instead");
    }
    List<FieldSchema> columns = new ArrayList<>();
    try {
      for (Schema.Field field : table.declaredSchema().getFields()) {
        columns.add(
            new FieldSchema(
                field.name().toLowerCase(Locale.ROOT),
                HiveTypes.of(field.schema()).getTypeName(),
                field.doc()));
      }
    } catch (IllegalArgumentException e) {
      throw new IOException(location + ": " + e.getMessage(), e);
    }
    return new TableColumns(
        columns, table.partitionColumns(), config.getTableType() == HoodieTableType.COPY_ON_WRITE);
  }

  private static String explainLocation(Configuration conf, Path location) {
    try {
      return location
          + " is inside the Hudi table "
          + HudiTable.basePathOf(conf, location)
          + "; LOCATION has to be the whole table";
    } catch (IOException e) {
      return location + " is not a Hudi table: it has no .hoodie/hoodie.properties";
    }
  }

  List<FieldSchema> columns() {
    return columns;
  }

  boolean isCopyOnWrite() {
    return copyOnWrite;
  }

  /**
   * Returns the error in declared columns, or null if there is none. Names are compared ignoring
   * case. Partition columns may be in their place or, as PARTITIONED BY puts them, at the end.
   */
  String problemWith(List<FieldSchema> declared) {
    List<FieldSchema> expected = columns;
    if (!names(declared).equals(names(columns))) {
      expected = partitionColumnsLast(declared);
    }
    for (int i = 0; i < Math.max(declared.size(), expected.size()); i++) {
      if (i >= declared.size()) {
        return "column " + (i + 1) + " is missing: " + show(expected.get(i));
      }
      if (i >= expected.size()) {
        return "column " + (i + 1) + " is not in the table: " + show(declared.get(i));
      }
      FieldSchema is = declared.get(i);
      FieldSchema should = expected.get(i);
      if (!is.getName().equalsIgnoreCase(should.getName())
          || !accepts(is.getType().toLowerCase(Locale.ROOT), should.getType())) {
        return "column " + (i + 1) + " is " + show(is) + " and has to be " + show(should);
      }
    }
    return null;
  }

  private List<FieldSchema> partitionColumnsLast(List<FieldSchema> declared) {
    List<String> tail = new ArrayList<>();
    for (int i = declared.size() - 1; i >= 0; i--) {
      String name = declared.get(i).getName().toLowerCase(Locale.ROOT);
      if (!partitionColumns.contains(name)) {
        break;
      }
      tail.add(0, name);
    }
    List<FieldSchema> ordered = new ArrayList<>();
    for (FieldSchema column : columns) {
      if (!tail.contains(column.getName())) {
        ordered.add(column);
      }
    }
    for (String name : tail) {
      columns.stream().filter(column -> column.getName().equals(name)).forEach(ordered::add);
    }
    return ordered;
  }

  private static List<String> names(List<FieldSchema> fields) {
    List<String> names = new ArrayList<>();
    for (FieldSchema field : fields) {
      names.add(field.getName().toLowerCase(Locale.ROOT));
    }
    return names;
  }

  /**
   * Returns whether Hive may declare a type. It may be more specific than Hudi's for texts and
   * small integers, never less.
   */
  private static boolean accepts(String declared, String actual) {
    if (declared.equals(actual)) {
      return true;
    }
    if (actual.equals("string")) {
      return declared.startsWith("char(") || declared.startsWith("varchar(");
    }
    return actual.equals("int") && Arrays.asList("tinyint", "smallint").contains(declared);
  }

  private static String show(FieldSchema column) {
    return "`" + column.getName() + "` " + column.getType();
  }

  /** Returns the statement that registers the table. */
  String statement(String name, String handler, String location) {
    StringBuilder text = new StringBuilder("CREATE EXTERNAL TABLE ").append(name).append(" (");
    for (int i = 0; i < columns.size(); i++) {
      text.append(i == 0 ? "\n  " : ",\n  ").append(show(columns.get(i)));
    }
    return text.append(")\nSTORED BY '")
        .append(handler)
        .append("'\nLOCATION '")
        .append(location)
        .append("'")
        .toString();
  }
}
