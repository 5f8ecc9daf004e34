package io.pyhudi.hive.read;

import io.pyhudi.hive.rows.ColumnChoice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.io.IOConstants;
import org.apache.hadoop.hive.ql.io.parquet.read.DataWritableReadSupport;
import org.apache.hadoop.hive.serde2.ColumnProjectionUtils;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.parquet.schema.MessageType;

/** The table's columns as Hive declares them, and which of them a scan reads. */
final class Projection implements ColumnChoice {
  private final List<String> names;
  private final List<TypeInfo> types;
  private final List<Integer> projected;
  private final Map<String, FieldSelection> selections;
  private final boolean isByPosition;

  private Projection(
      List<String> names,
      List<TypeInfo> types,
      List<Integer> projected,
      Map<String, FieldSelection> selections,
      boolean isByPosition) {
    this.names = names;
    this.types = types;
    this.projected = projected;
    this.selections = selections;
    this.isByPosition = isByPosition;
  }

  /** Reads the projection from a task's configuration. */
  static Projection of(Configuration conf) {
    List<String> names =
        new ArrayList<>(DataWritableReadSupport.getColumnNames(conf.get(IOConstants.COLUMNS, "")));
    List<TypeInfo> types =
        DataWritableReadSupport.getColumnTypes(conf.get(IOConstants.COLUMNS_TYPES, ""));
    List<Integer> projected = new ArrayList<>();
    if (ColumnProjectionUtils.isReadAllColumns(conf)) {
      for (int i = 0; i < names.size(); i++) {
        projected.add(i);
      }
    } else {
      for (int id : new TreeSet<>(ColumnProjectionUtils.getReadColumnIDs(conf))) {
        if (id < names.size()) {
          projected.add(id);
        }
      }
    }
    boolean isByPosition =
        conf.getBoolean(DataWritableReadSupport.PARQUET_COLUMN_INDEX_ACCESS, false);
    return new Projection(names, types, projected, nested(conf), isByPosition);
  }

  private static Map<String, FieldSelection> nested(Configuration conf) {
    Map<String, FieldSelection> selections = new LinkedHashMap<>();
    for (String path : ColumnProjectionUtils.getNestedColumnPaths(conf)) {
      String[] parts = path.toLowerCase(Locale.ROOT).split("\\.", 2);
      selections
          .computeIfAbsent(parts[0], name -> FieldSelection.none())
          .add(parts.length == 1 ? "" : parts[1]);
    }
    return selections;
  }

  int columns() {
    return names.size();
  }

  List<Integer> projected() {
    return projected;
  }

  String name(int column) {
    return names.get(column);
  }

  TypeInfo type(int column) {
    return types.get(column);
  }

  List<TypeInfo> types() {
    return types;
  }

  /**
   * Returns whether Hive's Parquet reader reads a column of a file, or may do so: it finds columns
   * by name, whatever the case, or has to find them by their position.
   */
  @Override
  public boolean reads(MessageType schema, String[] path) {
    return isByPosition
        || projected.stream().anyMatch(column -> names.get(column).equalsIgnoreCase(path[0]));
  }

  /** Returns the fields of a struct column that the rows contain. */
  FieldSelection selection(int column) {
    return selections.getOrDefault(
        names.get(column).toLowerCase(Locale.ROOT), FieldSelection.all());
  }
}
