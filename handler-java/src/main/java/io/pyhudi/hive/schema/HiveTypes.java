package io.pyhudi.hive.schema;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;

/** Maps each Avro type of Hudi tables to Hive's type. */
final class HiveTypes {
  private HiveTypes() {}

  /**
   * @throws IllegalArgumentException if Hive has no type for it
   */
  static TypeInfo of(Schema schema) {
    switch (schema.getType()) {
      case UNION:
        return of(onlyBranch(schema));
      case BOOLEAN:
        return TypeInfoFactory.booleanTypeInfo;
      case INT:
        return "date".equals(logicalName(schema))
            ? TypeInfoFactory.dateTypeInfo
            : TypeInfoFactory.intTypeInfo;
      case LONG:
        return logicalName(schema).contains("timestamp-")
            ? TypeInfoFactory.timestampTypeInfo
            : TypeInfoFactory.longTypeInfo;
      case FLOAT:
        return TypeInfoFactory.floatTypeInfo;
      case DOUBLE:
        return TypeInfoFactory.doubleTypeInfo;
      case STRING:
      case ENUM:
        return TypeInfoFactory.stringTypeInfo;
      case BYTES:
      case FIXED:
        return bytes(schema.getLogicalType());
      case ARRAY:
        return TypeInfoFactory.getListTypeInfo(of(schema.getElementType()));
      case MAP:
        return TypeInfoFactory.getMapTypeInfo(
            TypeInfoFactory.stringTypeInfo, of(schema.getValueType()));
      case RECORD:
        return struct(schema);
      default:
        throw new IllegalArgumentException("Hive has no type for " + schema);
    }
  }

  private static Schema onlyBranch(Schema union) {
    Schema only = null;
    for (Schema branch : union.getTypes()) {
      if (branch.getType() != Schema.Type.NULL) {
        if (only != null) {
          throw new IllegalArgumentException("Hive has no type for " + union);
        }
        only = branch;
      }
    }
    if (only == null) {
      throw new IllegalArgumentException("Hive has no type for " + union);
    }
    return only;
  }

  private static String logicalName(Schema schema) {
    LogicalType logical = schema.getLogicalType();
    return logical == null ? "" : logical.getName();
  }

  private static TypeInfo bytes(LogicalType logical) {
    if (logical instanceof LogicalTypes.Decimal) {
      LogicalTypes.Decimal decimal = (LogicalTypes.Decimal) logical;
      return TypeInfoFactory.getDecimalTypeInfo(decimal.getPrecision(), decimal.getScale());
    }
    return TypeInfoFactory.binaryTypeInfo;
  }

  private static TypeInfo struct(Schema schema) {
    List<String> names = new ArrayList<>();
    List<TypeInfo> types = new ArrayList<>();
    for (Schema.Field field : schema.getFields()) {
      names.add(field.name().toLowerCase(Locale.ROOT));
      types.add(of(field.schema()));
    }
    return TypeInfoFactory.getStructTypeInfo(names, types);
  }
}
