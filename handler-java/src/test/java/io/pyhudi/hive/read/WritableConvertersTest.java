package io.pyhudi.hive.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.Collections;
import org.apache.avro.Conversions.DecimalConversion;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.hadoop.hive.serde2.io.DateWritableV2;
import org.apache.hadoop.hive.serde2.io.HiveCharWritable;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.hadoop.hive.serde2.io.ShortWritable;
import org.apache.hadoop.hive.serde2.io.TimestampWritableV2;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.junit.jupiter.api.Test;

class WritableConvertersTest {
  private static final Schema INT = Schema.create(Schema.Type.INT);
  private static final Schema LONG = Schema.create(Schema.Type.LONG);
  private static final Schema STRING = Schema.create(Schema.Type.STRING);
  private static final Schema BYTES = Schema.create(Schema.Type.BYTES);

  private static Writable convert(Schema schema, String type, Object value) {
    return convert(schema, type, value, FieldSelection.all());
  }

  private static Writable convert(
      Schema schema, String type, Object value, FieldSelection selection) {
    return WritableConverters.of(schema, TypeInfoUtils.getTypeInfoFromTypeString(type), selection)
        .nullable(value);
  }

  private static Schema nullable(Schema schema) {
    return Schema.createUnion(Schema.create(Schema.Type.NULL), schema);
  }

  private static Writable[] elements(Writable array) {
    return ((ArrayWritable) array).get();
  }

  @Test
  void nullStaysNull() {
    assertNull(convert(nullable(INT), "int", null));
  }

  @Test
  void integersWidenAndOutOfRangeValuesAreNull() {
    assertEquals(new LongWritable(7), convert(INT, "bigint", 7));
    assertEquals(new ShortWritable((short) 7), convert(INT, "smallint", 7));
    assertNull(convert(INT, "tinyint", 128));
    assertNull(convert(LONG, "int", 1L << 40));
  }

  @Test
  void textIsCutAndPaddedAsDeclared() {
    assertEquals(new Text("é😀"), convert(STRING, "string", "é😀"));
    assertEquals("abc", ((HiveCharWritable) convert(STRING, "char(3)", "abcd")).toString().trim());
  }

  @Test
  void bytesAreCopied() {
    ByteBuffer buffer = ByteBuffer.wrap(new byte[] {9, 1, 2}, 1, 2);
    BytesWritable bytes = (BytesWritable) convert(BYTES, "binary", buffer);
    assertArrayEquals(new byte[] {1, 2}, bytes.copyBytes());
    assertEquals(2, buffer.remaining());
  }

  @Test
  void decimalsComeFromBytesAndFixed() {
    LogicalTypes.Decimal type = LogicalTypes.decimal(25, 4);
    BigDecimal number = new BigDecimal("-123456789012345678901.2345");
    Schema bytes = type.addToSchema(Schema.create(Schema.Type.BYTES));
    Schema fixed = type.addToSchema(Schema.createFixed("f", null, null, 11));
    DecimalConversion conversion = new DecimalConversion();
    for (Object value :
        Arrays.asList(
            conversion.toBytes(number, bytes, type), conversion.toFixed(number, fixed, type))) {
      Schema schema = value instanceof ByteBuffer ? bytes : fixed;
      HiveDecimalWritable decimal =
          (HiveDecimalWritable) convert(nullable(schema), "decimal(25,4)", value);
      assertEquals(number, decimal.getHiveDecimal().bigDecimalValue());
    }
  }

  @Test
  void datesAreDays() {
    Schema date = LogicalTypes.date().addToSchema(Schema.create(Schema.Type.INT));
    assertEquals(new DateWritableV2(-12), convert(date, "date", -12));
  }

  @Test
  void instantsShowTheZonesWallClockAndLocalTimesTheirOwn() {
    ZonedDateTime instant = ZonedDateTime.of(1969, 12, 31, 23, 59, 58, 123_456_000, ZoneOffset.UTC);
    long micros = instant.toEpochSecond() * 1_000_000 + 123_456;
    Schema utc = LogicalTypes.timestampMicros().addToSchema(Schema.create(Schema.Type.LONG));
    Schema local = LogicalTypes.localTimestampMicros().addToSchema(Schema.create(Schema.Type.LONG));
    assertEquals(
        instant.withZoneSameInstant(ZoneId.systemDefault()).toLocalDateTime(),
        wallClock(convert(utc, "timestamp", micros)));
    assertEquals(instant.toLocalDateTime(), wallClock(convert(local, "timestamp", micros)));
    assertThrows(UnsupportedOperationException.class, () -> convert(LONG, "timestamp", micros));
  }

  private static LocalDateTime wallClock(Writable timestamp) {
    return LocalDateTime.parse(
        ((TimestampWritableV2) timestamp).getTimestamp().toString().replace(' ', 'T'));
  }

  @Test
  void structsAreFoundByNameAndMissingFieldsAreNull() {
    Schema schema =
        SchemaBuilder.record("r").fields().requiredInt("B").requiredString("a").endRecord();
    Object record = new GenericRecordBuilder(schema).set("B", 1).set("a", "x").build();
    Writable[] fields = elements(convert(schema, "struct<a:string,b:int,later:int>", record));
    assertArrayEquals(new Writable[] {new Text("x"), new IntWritable(1), null}, fields);
  }

  @Test
  void fieldsThatAreNotReadAreLeftOut() {
    Schema inner = SchemaBuilder.record("i").fields().requiredInt("c").requiredInt("d").endRecord();
    Schema schema =
        SchemaBuilder.record("r")
            .fields()
            .requiredInt("a")
            .name("b")
            .type(inner)
            .noDefault()
            .endRecord();
    Object record =
        new GenericRecordBuilder(schema)
            .set("a", 1)
            .set("b", new GenericRecordBuilder(inner).set("c", 2).set("d", 3).build())
            .build();
    FieldSelection selection = FieldSelection.none();
    selection.add("b.d");
    Writable[] fields =
        elements(convert(schema, "struct<a:int,b:struct<c:int,d:int>>", record, selection));
    assertEquals(1, fields.length);
    assertArrayEquals(new Writable[] {new IntWritable(3)}, elements(fields[0]));
  }

  @Test
  void arraysAndMapsNest() {
    Schema array = Schema.createArray(nullable(INT));
    Writable[] numbers =
        elements(
            convert(array, "array<int>", new GenericData.Array<>(array, Arrays.asList(1, null))));
    assertArrayEquals(new Writable[] {new IntWritable(1), null}, numbers);
    Writable[] entries =
        elements(
            convert(
                Schema.createMap(array),
                "map<string,array<int>>",
                Collections.singletonMap("k", Arrays.asList(1, 2))));
    Writable[] pair = elements(entries[0]);
    assertEquals(new Text("k"), pair[0]);
    assertEquals(2, elements(pair[1]).length);
  }
}
