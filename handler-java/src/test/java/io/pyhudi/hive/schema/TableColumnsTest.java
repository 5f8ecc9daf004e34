package io.pyhudi.hive.schema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.junit.jupiter.api.Test;

class TableColumnsTest {
  private static final TableColumns TABLE =
      new TableColumns(
          fields("_hoodie_record_key string", "p string", "i int", "s string", "q int"),
          Arrays.asList("p", "q"),
          true);

  private static List<FieldSchema> fields(String... columns) {
    List<FieldSchema> fields = new ArrayList<>();
    for (String column : columns) {
      fields.add(new FieldSchema(column.split(" ")[0], column.split(" ")[1], null));
    }
    return fields;
  }

  private static String problem(String... columns) {
    return TABLE.problemWith(fields(columns));
  }

  @Test
  void acceptsTheTablesColumnsIgnoringCase() {
    assertNull(problem("_HOODIE_record_key STRING", "P string", "I int", "S string", "Q int"));
  }

  @Test
  void partitionColumnsMayComeLast() {
    assertNull(problem("_hoodie_record_key string", "i int", "s string", "p string", "q int"));
    assertNull(problem("_hoodie_record_key string", "i int", "s string", "q int", "p string"));
  }

  @Test
  void hiveMayKnowTextsAndSmallIntegersBetter() {
    assertNull(
        problem("_hoodie_record_key string", "p char(3)", "i tinyint", "s varchar(9)", "q int"));
  }

  @Test
  void reportsTheDifference() {
    assertEquals(
        "column 3 is `i` bigint and has to be `i` int",
        problem("_hoodie_record_key string", "p string", "i bigint", "s string", "q int"));
    assertEquals(
        "column 1 is `i` int and has to be `_hoodie_record_key` string",
        problem("i int", "s string", "p string", "q int"));
    assertEquals(
        "column 2 is `s` string and has to be `i` int",
        problem("_hoodie_record_key string", "s string", "i int", "p string", "q int"));
    assertEquals(
        "column 6 is not in the table: `z` int",
        problem("_hoodie_record_key string", "p string", "i int", "s string", "q int", "z int"));
    assertEquals(
        "column 5 is missing: `q` int",
        problem("_hoodie_record_key string", "p string", "i int", "s string"));
  }

  @Test
  void theStatementQuotesNames() {
    String statement =
        new TableColumns(fields("_k string"), Collections.emptyList(), true)
            .statement("db.t", "Handler", "/table");
    assertTrue(statement.startsWith("CREATE EXTERNAL TABLE db.t (\n  `_k` string)"), statement);
  }
}
