package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.pyhudi.hive.protocol.EqualRows;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.PruneCounts;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.junit.jupiter.api.Test;

class PartitionRowsTest {
  private static final TypeInfo TEXT = TypeInfoFactory.stringTypeInfo;
  private static final TypeInfo TINY = TypeInfoFactory.byteTypeInfo;
  private static final PruneCounts COUNTS = new PruneCounts(7, 0, 2, 0, 700, 0, 1);
  private static final List<EqualRows> COUNTED =
      Arrays.asList(group("a", 1, 2), group("b", 2, 1), group("a", 3, 3));

  private static EqualRows group(String day, long hour, long rows) {
    Literal text = new Literal("string").setStringValue(day);
    Literal number = new Literal("int").setIntegerValue(hour);
    return new EqualRows(Arrays.asList(text, number), rows);
  }

  private static PartitionQuery query(boolean countsRows) {
    return new PartitionQuery(Arrays.asList("day", "hour"), Arrays.asList(TEXT, TINY), countsRows);
  }

  /** Reads the rows run by run, after they have been written. */
  private static List<String> rows(GeneratedRows rows) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    rows.write(new DataOutputStream(out));
    GeneratedRows read =
        GeneratedRows.read(new DataInputStream(new ByteArrayInputStream(out.toByteArray())));
    assertEquals(7, read.files());
    assertEquals(700, read.bytes());
    List<String> found = new ArrayList<>();
    for (long row = 0; row < read.rows(); row = read.endOfRun(row)) {
      long last = read.endOfRun(row) - 1;
      assertEquals(read.value("HOUR", TINY, row), read.value("hour", TINY, last));
      found.add(
          read.value("day", TEXT, row)
              + " "
              + read.value("hour", TINY, row)
              + " x "
              + (last - row + 1));
    }
    assertNull(read.value("other", TEXT, 0));
    return found;
  }

  @Test
  void eachValueIsRepeated() throws IOException {
    PartitionRows rows = PartitionRows.of(query(true), COUNTED, COUNTS);
    assertEquals(6, rows.rows());
    assertEquals(Arrays.asList("a 1 x 2", "b 2 x 1", "a 3 x 3"), rows(rows));
  }

  @Test
  void onceIfItsNumberDoesNotMatter() throws IOException {
    PartitionRows rows = PartitionRows.of(query(false), COUNTED, COUNTS);
    assertEquals(Arrays.asList("a 1 x 1", "b 2 x 1", "a 3 x 1"), rows(rows));
  }

  @Test
  void valuesThatHiveReadsOtherwiseAreRead() {
    assertNull(PartitionRows.of(query(true), Arrays.asList(group("a", 300, 2)), COUNTS));
    EqualRows fewer = new EqualRows(Collections.emptyList(), 1);
    assertNull(PartitionRows.of(query(true), Collections.singletonList(fewer), COUNTS));
  }

  @Test
  void noGroupIsNoRow() throws IOException {
    assertEquals(
        Collections.emptyList(),
        rows(PartitionRows.of(query(true), Collections.emptyList(), COUNTS)));
  }
}
