package io.pyhudi.hive.merge;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.avro.Conversions.DecimalConversion;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.IndexedRecord;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.Type;

/**
 * Reads decimals that a Parquet file stores as integers (Spark's newer format for up to 18 digits).
 *
 * <p>Avro has no such decimals: Hudi's Avro reader would use the unscaled integer as the number.
 * This class requests such columns as integers and converts them to decimals afterwards.
 */
final class IntegerDecimals {
  private static final DecimalConversion CONVERSION = new DecimalConversion();

  private IntegerDecimals() {}

  /**
   * Returns the schema to request from a file.
   *
   * @param requested the schema that the caller requests
   * @param file the file's schema as Avro sees it, without the scale of integer decimals
   * @return {@code requested} itself if the file has no integer decimals among its columns
   */
  static Schema asStored(Schema requested, Schema file) {
    Schema stored = AvroUnions.withoutNull(file);
    switch (requested.getType()) {
      case UNION:
        return unionAsStored(requested, stored);
      case RECORD:
        return stored.getType() == Schema.Type.RECORD
            ? recordAsStored(requested, stored)
            : requested;
      case ARRAY:
        if (stored.getType() == Schema.Type.ARRAY) {
          Schema element = asStored(requested.getElementType(), stored.getElementType());
          return element == requested.getElementType() ? requested : Schema.createArray(element);
        }
        return requested;
      case MAP:
        if (stored.getType() == Schema.Type.MAP) {
          Schema value = asStored(requested.getValueType(), stored.getValueType());
          return value == requested.getValueType() ? requested : Schema.createMap(value);
        }
        return requested;
      default:
        return isDecimal(requested) && isInteger(stored)
            ? Schema.create(stored.getType())
            : requested;
    }
  }

  private static Schema unionAsStored(Schema requested, Schema stored) {
    List<Schema> branches = new ArrayList<>();
    boolean changed = false;
    for (Schema branch : requested.getTypes()) {
      Schema asStored = asStored(branch, stored);
      changed |= asStored != branch;
      branches.add(asStored);
    }
    return changed ? Schema.createUnion(branches) : requested;
  }

  private static Schema recordAsStored(Schema requested, Schema stored) {
    List<Schema.Field> fields = new ArrayList<>();
    boolean changed = false;
    for (Schema.Field field : requested.getFields()) {
      Schema.Field other = stored.getField(field.name());
      Schema asStored = other == null ? field.schema() : asStored(field.schema(), other.schema());
      changed |= asStored != field.schema();
      fields.add(
          asStored == field.schema()
              ? new Schema.Field(field, asStored)
              : new Schema.Field(field.name(), asStored, field.doc()));
    }
    return changed
        ? Schema.createRecord(
            requested.getName(), requested.getDoc(), requested.getNamespace(), false, fields)
        : requested;
  }

  private static boolean isDecimal(Schema schema) {
    return schema.getLogicalType() instanceof LogicalTypes.Decimal;
  }

  private static boolean isInteger(Schema schema) {
    return (schema.getType() == Schema.Type.INT || schema.getType() == Schema.Type.LONG)
        && schema.getLogicalType() == null;
  }

  /**
   * Returns the converter from values read with {@link #asStored} to values of the requested
   * schema.
   *
   * @param parquet the file's own type, which has the scales
   */
  static UnaryOperator<Object> converter(Schema requested, Schema stored, Type parquet) {
    if (requested == stored) {
      return UnaryOperator.identity();
    }
    UnaryOperator<Object> converter =
        present(AvroUnions.withoutNull(requested), AvroUnions.withoutNull(stored), parquet);
    return value -> value == null ? null : converter.apply(value);
  }

  private static UnaryOperator<Object> present(Schema requested, Schema stored, Type parquet) {
    switch (requested.getType()) {
      case RECORD:
        return record(requested, stored, parquet.asGroupType());
      case ARRAY:
        UnaryOperator<Object> element =
            converter(requested.getElementType(), stored.getElementType(), elementOf(parquet));
        return value -> {
          GenericData.Array<Object> elements =
              new GenericData.Array<>(((Collection<?>) value).size(), requested);
          ((Collection<?>) value).forEach(each -> elements.add(element.apply(each)));
          return elements;
        };
      case MAP:
        UnaryOperator<Object> entry =
            converter(requested.getValueType(), stored.getValueType(), valueOf(parquet));
        return value -> {
          Map<Object, Object> entries = new LinkedHashMap<>();
          ((Map<?, ?>) value).forEach((key, each) -> entries.put(key, entry.apply(each)));
          return entries;
        };
      default:
        return decimal(requested, scaleOf(parquet));
    }
  }

  private static UnaryOperator<Object> record(Schema requested, Schema stored, GroupType parquet) {
    List<UnaryOperator<Object>> fields = new ArrayList<>();
    for (Schema.Field field : requested.getFields()) {
      Schema other = stored.getField(field.name()).schema();
      fields.add(
          other.equals(field.schema())
              ? UnaryOperator.identity()
              : converter(field.schema(), other, parquet.getType(field.name())));
    }
    return value -> {
      GenericData.Record copy = new GenericData.Record(requested);
      for (int i = 0; i < fields.size(); i++) {
        copy.put(i, fields.get(i).apply(((IndexedRecord) value).get(i)));
      }
      return copy;
    };
  }

  private static UnaryOperator<Object> decimal(Schema requested, int scale) {
    LogicalTypes.Decimal type = (LogicalTypes.Decimal) requested.getLogicalType();
    boolean isFixed = requested.getType() == Schema.Type.FIXED;
    return value -> {
      BigDecimal number =
          BigDecimal.valueOf(((Number) value).longValue(), scale).setScale(type.getScale());
      return isFixed
          ? CONVERSION.toFixed(number, requested, type)
          : ByteBuffer.wrap(number.unscaledValue().toByteArray());
    };
  }

  /** Returns the scale in the file; a plain integer has none. */
  private static int scaleOf(Type parquet) {
    LogicalTypeAnnotation annotation = parquet.getLogicalTypeAnnotation();
    return annotation instanceof DecimalLogicalTypeAnnotation
        ? ((DecimalLogicalTypeAnnotation) annotation).getScale()
        : 0;
  }

  /** Lists have a repeated group around the element, or (older) repeat the element itself. */
  private static Type elementOf(Type list) {
    Type repeated = list.asGroupType().getType(0);
    boolean isWrapper =
        !repeated.isPrimitive()
            && repeated.asGroupType().getFieldCount() == 1
            && !repeated.getName().equals("array");
    return isWrapper ? repeated.asGroupType().getType(0) : repeated;
  }

  private static Type valueOf(Type map) {
    return map.asGroupType().getType(0).asGroupType().getType(1);
  }
}
