package io.pyhudi.hive.read;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;

/**
 * Compares the columns of a file with the table's. Hive's readers and Hudi's agree about columns
 * that are stored as they are declared. Others, which were added or widened later, only Hudi reads
 * in a slice that it merges.
 */
final class StoredColumns {
  private StoredColumns() {}

  /** Returns whether all columns that a query reads are stored as the table declares them. */
  static boolean areAsDeclared(Projection projection, Schema table, MessageType file) {
    return projection.projected().stream()
        .allMatch(column -> isAsDeclared(projection.name(column), table, file));
  }

  private static boolean isAsDeclared(String name, Schema table, MessageType file) {
    Schema.Field field = WritableConverters.field(table, name);
    List<PrimitiveTypeName> stored =
        file.getColumns().stream()
            .filter(column -> column.getPath()[0].equalsIgnoreCase(name))
            .map(column -> column.getPrimitiveType().getPrimitiveTypeName())
            .collect(Collectors.toList());
    if (field == null) {
      return stored.isEmpty();
    }
    List<Set<PrimitiveTypeName>> declared = new ArrayList<>();
    addTypes(field.schema(), declared);
    boolean isEqual = file.containsField(field.name()) && stored.size() == declared.size();
    for (int i = 0; isEqual && i < stored.size(); i++) {
      isEqual = declared.get(i).contains(stored.get(i));
    }
    return isEqual;
  }

  /** Adds, for each primitive value in a type, how it may be stored. */
  private static void addTypes(Schema type, List<Set<PrimitiveTypeName>> types) {
    switch (type.getType()) {
      case UNION:
        type.getTypes().forEach(member -> addTypes(member, types));
        break;
      case RECORD:
        type.getFields().forEach(field -> addTypes(field.schema(), types));
        break;
      case ARRAY:
        addTypes(type.getElementType(), types);
        break;
      case MAP:
        types.add(EnumSet.of(PrimitiveTypeName.BINARY));
        addTypes(type.getValueType(), types);
        break;
      case NULL:
        break;
      default:
        types.add(storedAs(type));
    }
  }

  private static Set<PrimitiveTypeName> storedAs(Schema type) {
    if (type.getLogicalType() instanceof LogicalTypes.Decimal) {
      return EnumSet.of(
          PrimitiveTypeName.INT32,
          PrimitiveTypeName.INT64,
          PrimitiveTypeName.BINARY,
          PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY);
    }
    switch (type.getType()) {
      case BOOLEAN:
        return EnumSet.of(PrimitiveTypeName.BOOLEAN);
      case INT:
        return EnumSet.of(PrimitiveTypeName.INT32);
      case LONG:
        return EnumSet.of(PrimitiveTypeName.INT64);
      case FLOAT:
        return EnumSet.of(PrimitiveTypeName.FLOAT);
      case DOUBLE:
        return EnumSet.of(PrimitiveTypeName.DOUBLE);
      case STRING:
      case BYTES:
      case ENUM:
        return EnumSet.of(PrimitiveTypeName.BINARY);
      default:
        return EnumSet.noneOf(PrimitiveTypeName.class);
    }
  }
}
