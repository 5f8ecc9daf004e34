package io.pyhudi.hive.read;

import io.pyhudi.hive.merge.AvroUnions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.hive.serde2.typeinfo.ListTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.MapTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.StructTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;

/** Converters for nested types, in the layout of Hive's Parquet rows. */
final class WritableConverters {
  private WritableConverters() {}

  /**
   * @param schema the Avro schema of the values
   * @param type what Hive declares
   * @param selection the fields that a struct has in the rows
   */
  static WritableConverter of(Schema schema, TypeInfo type, FieldSelection selection) {
    Schema value = AvroUnions.withoutNull(schema);
    switch (type.getCategory()) {
      case PRIMITIVE:
        return PrimitiveConverters.of(value, (PrimitiveTypeInfo) type);
      case STRUCT:
        return struct(value, (StructTypeInfo) type, selection);
      case LIST:
        return list(value, (ListTypeInfo) type);
      case MAP:
        return map(value, (MapTypeInfo) type);
      default:
        throw new UnsupportedOperationException("columns of type " + type + " cannot be read");
    }
  }

  private static WritableConverter struct(
      Schema schema, StructTypeInfo type, FieldSelection selection) {
    requireType(schema, Schema.Type.RECORD, type);
    List<WritableConverter> converters = new ArrayList<>();
    List<Integer> positions = new ArrayList<>();
    for (String name : type.getAllStructFieldNames()) {
      if (selection.has(name)) {
        Schema.Field field = field(schema, name);
        positions.add(field == null ? -1 : field.pos());
        converters.add(
            field == null
                ? value -> null
                : of(field.schema(), type.getStructFieldTypeInfo(name), selection.of(name)));
      }
    }
    return value -> {
      IndexedRecord record = (IndexedRecord) value;
      Writable[] fields = new Writable[converters.size()];
      for (int i = 0; i < fields.length; i++) {
        int position = positions.get(i);
        fields[i] = position < 0 ? null : converters.get(i).nullable(record.get(position));
      }
      return new ArrayWritable(Writable.class, fields);
    };
  }

  /** Returns a field by its name, ignoring case: Hive's names are lower-case. */
  static Schema.Field field(Schema record, String name) {
    for (Schema.Field field : record.getFields()) {
      if (field.name().equalsIgnoreCase(name)) {
        return field;
      }
    }
    return null;
  }

  private static WritableConverter list(Schema schema, ListTypeInfo type) {
    requireType(schema, Schema.Type.ARRAY, type);
    WritableConverter element =
        of(schema.getElementType(), type.getListElementTypeInfo(), FieldSelection.all());
    return value -> {
      Collection<?> values = (Collection<?>) value;
      Writable[] elements = new Writable[values.size()];
      int i = 0;
      for (Object each : values) {
        elements[i++] = element.nullable(each);
      }
      return new ArrayWritable(Writable.class, elements);
    };
  }

  private static WritableConverter map(Schema schema, MapTypeInfo type) {
    requireType(schema, Schema.Type.MAP, type);
    WritableConverter converter =
        of(schema.getValueType(), type.getMapValueTypeInfo(), FieldSelection.all());
    return value -> {
      Map<?, ?> map = (Map<?, ?>) value;
      Writable[] entries = new Writable[map.size()];
      int i = 0;
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        Writable[] pair = {
          new Text(entry.getKey().toString()), converter.nullable(entry.getValue())
        };
        entries[i++] = new ArrayWritable(Writable.class, pair);
      }
      return new ArrayWritable(Writable.class, entries);
    };
  }

  private static void requireType(Schema schema, Schema.Type expected, TypeInfo type) {
    if (schema.getType() != expected) {
      throw new UnsupportedOperationException(
          "the table's type is " + schema.getType() + ", but Hive declares " + type);
    }
  }
}
