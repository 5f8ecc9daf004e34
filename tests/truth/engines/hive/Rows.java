package io.pyhudi.truth;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TimeStampMicroTZVector;
import org.apache.arrow.vector.TimeStampMicroVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.ql.io.parquet.serde.ArrayWritableObjectInspector;
import org.apache.hadoop.hive.ql.io.parquet.timestamp.ParquetTimestampUtils;
import org.apache.hadoop.hive.serde2.io.DateWritableV2;
import org.apache.hadoop.hive.serde2.io.DoubleWritable;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.hadoop.hive.serde2.io.TimestampWritableV2;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils.ObjectInspectorCopyOption;
import org.apache.hadoop.hive.serde2.objectinspector.StructField;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;
import org.apache.hadoop.hive.serde2.typeinfo.StructTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;

/**
 * Rows as Hive's Parquet reader gives them (ETypeConverter), with its inspectors.
 *
 * <p>A stored instant is shown as the wall clock of the JVM's zone, a stored wall clock as it is
 * (ParquetTimestampUtils). Days are proleptic Gregorian, as the handler has Hive take them.
 */
record Rows(StructTypeInfo type, ArrayWritable[] rows) {
  /** The rows of an Arrow IPC stream. */
  static Rows read(byte[] stream) throws IOException {
    List<String> names = new ArrayList<>();
    List<TypeInfo> types = new ArrayList<>();
    List<ArrayWritable> rows = new ArrayList<>();
    try (BufferAllocator memory = new RootAllocator();
        ArrowStreamReader reader =
            new ArrowStreamReader(new ByteArrayInputStream(stream), memory)) {
      VectorSchemaRoot batch = reader.getVectorSchemaRoot();
      for (FieldVector vector : batch.getFieldVectors()) {
        names.add(vector.getName().toLowerCase(Locale.ROOT));
        types.add(Column.of(vector).type());
      }
      while (reader.loadNextBatch()) {
        addRows(batch, rows);
      }
    }
    StructTypeInfo type = (StructTypeInfo) TypeInfoFactory.getStructTypeInfo(names, types);
    return new Rows(type, rows.toArray(ArrayWritable[]::new));
  }

  private static void addRows(VectorSchemaRoot batch, List<ArrayWritable> rows) {
    List<FieldVector> vectors = batch.getFieldVectors();
    List<Column> columns = vectors.stream().map(Column::of).toList();
    for (int row = 0; row < batch.getRowCount(); row++) {
      Writable[] cells = new Writable[columns.size()];
      for (int i = 0; i < cells.length; i++) {
        cells[i] = vectors.get(i).isNull(row) ? null : columns.get(i).cell().apply(row);
      }
      rows.add(new ArrayWritable(Writable.class, cells));
    }
  }

  StructObjectInspector inspector() {
    return new ArrayWritableObjectInspector(type);
  }

  /** The values of each column, as writables of its type; null where they are. */
  Object[][] columns() {
    List<? extends StructField> fields = inspector().getAllStructFieldRefs();
    Object[][] columns = new Object[fields.size()][rows.length];
    for (int column = 0; column < columns.length; column++) {
      ObjectInspector field = fields.get(column).getFieldObjectInspector();
      for (int row = 0; row < rows.length; row++) {
        columns[column][row] =
            ObjectInspectorUtils.copyToStandardObject(
                rows[row].get()[column], field, ObjectInspectorCopyOption.WRITABLE);
      }
    }
    return columns;
  }

  /** A column's type, and its values that are not null by their rows. */
  private record Column(TypeInfo type, IntFunction<Writable> cell) {
    static Column of(FieldVector vector) {
      if (vector instanceof BitVector v) {
        return new Column(
            TypeInfoFactory.booleanTypeInfo, row -> new BooleanWritable(v.get(row) != 0));
      }
      if (vector instanceof TinyIntVector v) {
        return new Column(TypeInfoFactory.byteTypeInfo, row -> new IntWritable(v.get(row)));
      }
      if (vector instanceof SmallIntVector v) {
        return new Column(TypeInfoFactory.shortTypeInfo, row -> new IntWritable(v.get(row)));
      }
      if (vector instanceof IntVector v) {
        return new Column(TypeInfoFactory.intTypeInfo, row -> new IntWritable(v.get(row)));
      }
      if (vector instanceof BigIntVector v) {
        return new Column(TypeInfoFactory.longTypeInfo, row -> new LongWritable(v.get(row)));
      }
      if (vector instanceof Float4Vector v) {
        return new Column(TypeInfoFactory.floatTypeInfo, row -> new FloatWritable(v.get(row)));
      }
      if (vector instanceof Float8Vector v) {
        return new Column(TypeInfoFactory.doubleTypeInfo, row -> new DoubleWritable(v.get(row)));
      }
      if (vector instanceof DecimalVector v) {
        return new Column(
            TypeInfoFactory.getDecimalTypeInfo(v.getPrecision(), v.getScale()),
            row -> new HiveDecimalWritable(decimal(v.getObject(row))));
      }
      if (vector instanceof VarCharVector v) {
        return new Column(TypeInfoFactory.stringTypeInfo, row -> new Text(v.get(row)));
      }
      if (vector instanceof VarBinaryVector v) {
        return new Column(TypeInfoFactory.binaryTypeInfo, row -> new BytesWritable(v.get(row)));
      }
      if (vector instanceof DateDayVector v) {
        return new Column(TypeInfoFactory.dateTypeInfo, row -> new DateWritableV2(v.get(row)));
      }
      if (vector instanceof TimeStampMicroTZVector v) {
        return new Column(TypeInfoFactory.timestampTypeInfo, row -> timestamp(v.get(row), true));
      }
      if (vector instanceof TimeStampMicroVector v) {
        return new Column(TypeInfoFactory.timestampTypeInfo, row -> timestamp(v.get(row), false));
      }
      throw new IllegalArgumentException(vector.getField() + " has no type in Hive here");
    }

    private static HiveDecimal decimal(BigDecimal value) {
      return HiveDecimal.create(value);
    }

    private static Writable timestamp(long micros, boolean isInstant) {
      return new TimestampWritableV2(
          ParquetTimestampUtils.getTimestamp(micros, TimeUnit.MICROS, isInstant));
    }
  }
}
