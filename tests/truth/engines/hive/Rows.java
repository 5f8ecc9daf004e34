package io.pyhudi.truth;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
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
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.StructTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
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
 *
 * @param columns the values of each column, as writables of its type; null where they are
 */
record Rows(StructTypeInfo type, ArrayWritable[] rows, Object[][] columns) {
  /**
   * The rows of a stream: the number of rows and of columns, then each column. A column is its name,
   * Hive's name of its type, whether its times are instants, and for each row a byte that is 1 where
   * there is a value, and the value. Numbers, days and microseconds are longs, floats doubles; others
   * follow their length, decimals as texts.
   */
  static Rows read(byte[] stream) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(stream));
    int size = in.readInt();
    int width = in.readInt();
    List<String> names = new ArrayList<>();
    List<TypeInfo> types = new ArrayList<>();
    Writable[][] cells = new Writable[size][width];
    for (int column = 0; column < width; column++) {
      names.add(text(in).toLowerCase(Locale.ROOT));
      TypeInfo type = TypeInfoUtils.getTypeInfoFromTypeString(text(in));
      types.add(type);
      boolean isInstant = in.readBoolean();
      for (int row = 0; row < size; row++) {
        cells[row][column] =
            in.readBoolean() ? value((PrimitiveTypeInfo) type, isInstant, in) : null;
      }
    }
    StructTypeInfo type = (StructTypeInfo) TypeInfoFactory.getStructTypeInfo(names, types);
    ArrayWritable[] rows =
        Arrays.stream(cells)
            .map(row -> new ArrayWritable(Writable.class, row))
            .toArray(ArrayWritable[]::new);
    return new Rows(type, rows, columns(inspector(type), rows));
  }

  private static Writable value(PrimitiveTypeInfo type, boolean isInstant, DataInputStream in)
      throws IOException {
    return switch (type.getPrimitiveCategory()) {
      case BOOLEAN -> new BooleanWritable(in.readLong() != 0);
      case BYTE, SHORT, INT -> new IntWritable((int) in.readLong());
      case LONG -> new LongWritable(in.readLong());
      case FLOAT -> new FloatWritable((float) in.readDouble());
      case DOUBLE -> new DoubleWritable(in.readDouble());
      case DECIMAL -> new HiveDecimalWritable(HiveDecimal.create(text(in)));
      case STRING -> new Text(bytes(in));
      case BINARY -> new BytesWritable(bytes(in));
      case DATE -> new DateWritableV2((int) in.readLong());
      case TIMESTAMP ->
          new TimestampWritableV2(
              ParquetTimestampUtils.getTimestamp(in.readLong(), TimeUnit.MICROS, isInstant));
      default -> throw new IllegalArgumentException(type + " is not drawn");
    };
  }

  private static String text(DataInputStream in) throws IOException {
    return new String(bytes(in), StandardCharsets.UTF_8);
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return bytes;
  }

  StructObjectInspector inspector() {
    return inspector(type);
  }

  private static StructObjectInspector inspector(StructTypeInfo type) {
    return new ArrayWritableObjectInspector(type);
  }

  private static Object[][] columns(StructObjectInspector inspector, ArrayWritable[] rows) {
    List<? extends StructField> fields = inspector.getAllStructFieldRefs();
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
}
