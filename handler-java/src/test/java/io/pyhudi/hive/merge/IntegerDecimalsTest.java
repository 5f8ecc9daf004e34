package io.pyhudi.hive.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.Test;

class IntegerDecimalsTest {
  private static final Schema DECIMAL =
      LogicalTypes.decimal(10, 5).addToSchema(Schema.createFixed("f", null, "n", 5));
  private static final Schema NULLABLE =
      Schema.createUnion(Schema.create(Schema.Type.NULL), DECIMAL);
  private static final Schema WANTED =
      record("int", SchemaBuilder.builder().intType(), NULLABLE, Schema.createArray(NULLABLE));
  private static final Schema FILE =
      record(
          "int",
          SchemaBuilder.builder().intType(),
          SchemaBuilder.builder().longType(),
          Schema.createArray(SchemaBuilder.builder().intType()));
  private static final MessageType PARQUET =
      MessageTypeParser.parseMessageType(
          "message m { required int32 int; optional int64 d (DECIMAL(10,5));"
              + " required group a (LIST) { repeated group list {"
              + " optional int32 element (DECIMAL(9,2)); } } }");

  private static Schema record(String name, Schema plain, Schema decimal, Schema array) {
    return SchemaBuilder.record("r")
        .namespace("n")
        .fields()
        .name(name)
        .type(plain)
        .noDefault()
        .name("d")
        .type(decimal)
        .noDefault()
        .name("a")
        .type(array)
        .noDefault()
        .endRecord();
  }

  private static BigDecimal number(Object fixed) {
    return new BigDecimal(new BigInteger(((GenericFixed) fixed).bytes()), 5);
  }

  @Test
  void fileWithoutIntegerDecimalsIsReadUnchanged() {
    assertSame(WANTED, IntegerDecimals.asStored(WANTED, WANTED));
  }

  @Test
  void integersGetTheScaleThatTheFileGivesThem() {
    Schema stored = IntegerDecimals.asStored(WANTED, FILE);
    GenericRecord read =
        new GenericRecordBuilder(stored)
            .set("int", 3)
            .set("d", -1_234_567L)
            .set("a", new GenericData.Array<>(stored.getField("a").schema(), Arrays.asList(150)))
            .build();
    GenericRecord record =
        (GenericRecord) IntegerDecimals.converter(WANTED, stored, PARQUET).apply(read);
    assertEquals(WANTED, record.getSchema());
    assertEquals(3, record.get("int"));
    assertEquals(new BigDecimal("-12.34567"), number(record.get("d")));
    Object element = ((GenericData.Array<?>) record.get("a")).get(0);
    assertEquals(new BigDecimal("1.50000"), number(element));
  }

  @Test
  void nullStaysNull() {
    Schema stored = IntegerDecimals.asStored(WANTED, FILE);
    assertEquals(
        null,
        IntegerDecimals.converter(NULLABLE, stored.getField("d").schema(), PARQUET.getType("d"))
            .apply(null));
  }
}
