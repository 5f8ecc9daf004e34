package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.PruneCounts;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.junit.jupiter.api.Test;

class ExtremeRowsTest {
  private static final PruneCounts COUNTS = new PruneCounts(7, 0, 1, 0, 700, 0, 1);

  private static ColumnSummary numbers(String name, boolean attained) {
    return new ColumnSummary(name)
        .setLeast(new Literal("int").setIntegerValue(-1))
        .setGreatest(new Literal("int").setIntegerValue(5))
        .setAttained(attained);
  }

  private static final Described TABLE =
      Described.of(
          Arrays.asList(
              numbers("N", true),
              numbers("loose", false),
              new ColumnSummary("t")
                  .setLeast(new Literal("string").setStringValue("a"))
                  .setGreatest(new Literal("string").setStringValue("é"))
                  .setAttained(true)),
          COUNTS);

  private static Optional<ExtremeRows> rows(String... columns) {
    Map<String, TypeInfo> asked = new HashMap<>();
    for (String column : columns) {
      asked.put(
          column,
          column.equals("t") ? TypeInfoFactory.stringTypeInfo : TypeInfoFactory.intTypeInfo);
    }
    return ExtremeRows.of(asked, TABLE);
  }

  private static ExtremeRows copy(ExtremeRows rows) throws IOException {
    DataOutputBuffer out = new DataOutputBuffer();
    rows.write(out);
    DataInputBuffer in = new DataInputBuffer();
    in.reset(out.getData(), out.getLength());
    return ExtremeRows.read(in);
  }

  @Test
  void rowsHaveTheEndsOfWhatIsAsked() throws IOException {
    ExtremeRows rows = copy(rows("n", "t").get());
    List<?> numbers = Arrays.asList(new IntWritable(-1), new IntWritable(5));
    assertEquals(numbers, rows.of("N", TypeInfoFactory.intTypeInfo));
    List<?> texts = Arrays.asList(new Text("a"), new Text("é"));
    assertEquals(texts, rows.of("t", TypeInfoFactory.stringTypeInfo));
    List<?> none = Collections.emptyList();
    assertEquals(none, rows.of("loose", TypeInfoFactory.intTypeInfo));
    assertEquals(7, rows.files());
    assertEquals(700, rows.bytes());
  }

  @Test
  void thereAreNoneWhereAnEndMayBeNoValue() {
    assertFalse(rows("loose").isPresent());
    assertFalse(rows("n", "loose").isPresent());
    assertFalse(rows("n", "unknown").isPresent());
  }
}
