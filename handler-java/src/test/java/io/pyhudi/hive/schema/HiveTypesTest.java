package io.pyhudi.hive.schema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.avro.Schema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HiveTypesTest {
  private static String hive(String avro) {
    return HiveTypes.of(new Schema.Parser().parse(avro)).getTypeName();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "boolean | '\"boolean\"'",
        "int | '\"int\"'",
        "bigint | '\"long\"'",
        "float | '\"float\"'",
        "double | '\"double\"'",
        "string | '\"string\"'",
        "binary | '\"bytes\"'",
        "string | '[\"null\",\"string\"]'",
        "date | '{\"type\":\"int\",\"logicalType\":\"date\"}'",
        "timestamp | '{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}'",
        "timestamp | '{\"type\":\"long\",\"logicalType\":\"local-timestamp-millis\"}'",
        "bigint | '{\"type\":\"long\",\"logicalType\":\"time-micros\"}'",
        "string | '{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\"]}'",
        "array<int> | '{\"type\":\"array\",\"items\":\"int\"}'",
        "map<string,int> | '{\"type\":\"map\",\"values\":[\"null\",\"int\"]}'",
      })
  void everyTypeHasOne(String type, String avro) {
    assertEquals(type, hive(avro));
  }

  @Test
  void decimalsKeepPrecisionAndScale() {
    String logical = ",\"logicalType\":\"decimal\",\"precision\":25,\"scale\":4}";
    assertEquals("decimal(25,4)", hive("{\"type\":\"bytes\"" + logical));
    assertEquals("decimal(25,4)", hive("{\"type\":\"fixed\",\"name\":\"f\",\"size\":11" + logical));
  }

  @Test
  void structsHaveLowerCaseNames() {
    assertEquals(
        "struct<a:int,bc:string>",
        hive(
            "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"A\",\"type\":\"int\"},"
                + "{\"name\":\"bC\",\"type\":\"string\"}]}"));
  }

  @Test
  void unionsOfTwoTypesHaveNone() {
    assertThrows(IllegalArgumentException.class, () -> hive("[\"int\",\"string\"]"));
  }
}
