package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.PruneCounts;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.junit.jupiter.api.Test;

class ExtremeRowsTest {
  private static final PruneCounts COUNTS = counts(4, true);

  private static PruneCounts counts(long rows, boolean exact) {
    return new PruneCounts(7, 0, 1, 0, 700, 0, 1).setRowsKept(rows).setRowsAreExact(exact);
  }

  private static ColumnSummary numbers(String name, boolean attained) {
    return new ColumnSummary(name)
        .setLeast(new Literal("int").setIntegerValue(-1))
        .setGreatest(new Literal("int").setIntegerValue(5))
        .setAttained(attained);
  }

  private static ColumnSummary texts(String name) {
    return new ColumnSummary(name)
        .setLeast(new Literal("string").setStringValue("a"))
        .setGreatest(new Literal("string").setStringValue("é"))
        .setAttained(true);
  }

  private static final List<ColumnSummary> COLUMNS =
      Arrays.asList(numbers("N", true).setNulls(2), numbers("loose", false), texts("t"));

  private static Optional<ExtremeRows> rows(PruneCounts counts, MinMaxQuery query) {
    return ExtremeRows.of(query, TableDescription.of(COLUMNS, counts));
  }

  private static MinMaxQuery ends(String... columns) {
    return new MinMaxQuery(typed(columns), Collections.emptySet(), false);
  }

  private static MinMaxQuery endsAndRows(String... columns) {
    return new MinMaxQuery(typed(columns), Collections.emptySet(), true);
  }

  private static MinMaxQuery counted(String... columns) {
    return new MinMaxQuery(typed(columns), new HashSet<>(Arrays.asList(columns)), false);
  }

  private static Map<String, TypeInfo> typed(String... columns) {
    Map<String, TypeInfo> typed = new HashMap<>();
    for (String column : columns) {
      typed.put(column, type(column));
    }
    return typed;
  }

  private static TypeInfo type(String column) {
    return column.equals("t") ? TypeInfoFactory.stringTypeInfo : TypeInfoFactory.intTypeInfo;
  }

  /** The values of a column in all rows, as a split brings them to a task. */
  private static String values(ExtremeRows rows, String column) throws IOException {
    GeneratedRows read = copy(rows);
    List<String> values = new ArrayList<>();
    for (long row = 0; row < read.rows(); row++) {
      values.add(String.valueOf(read.value(column, type(column), row)));
    }
    return String.join(" ", values);
  }

  private static GeneratedRows copy(ExtremeRows rows) throws IOException {
    DataOutputBuffer out = new DataOutputBuffer();
    rows.write(out);
    DataInputBuffer in = new DataInputBuffer();
    in.reset(out.getData(), out.getLength());
    return GeneratedRows.read(in);
  }

  @Test
  void rowsHaveMinimumAndMaximumOfQueriedColumns() throws IOException {
    ExtremeRows rows = rows(COUNTS, ends("n", "t")).get();
    assertEquals("-1 5", values(rows, "n"));
    assertEquals("-1 5", values(rows, "N"));
    assertEquals("a é", values(rows, "t"));
    assertEquals("null null", values(rows, "loose"));
    assertEquals(7, copy(rows).files());
    assertEquals(700, copy(rows).bytes());
  }

  @Test
  void thereAreNoneWhereAnEndMayBeNoValue() {
    assertFalse(rows(COUNTS, ends("loose")).isPresent());
    assertFalse(rows(COUNTS, ends("n", "loose")).isPresent());
    assertFalse(rows(COUNTS, ends("n", "unknown")).isPresent());
    assertFalse(rows(null, ends("n")).isPresent());
  }

  @Test
  void thereAreAsManyRowsAsTheTableHasWhereTheyAreCounted() throws IOException {
    ExtremeRows rows = rows(COUNTS, endsAndRows("n", "t")).get();
    assertEquals("-1 5 5 5", values(rows, "n"));
    assertEquals("a é é é", values(rows, "t"));
    assertEquals(0, rows(counts(0, true), endsAndRows()).get().rows());
    assertEquals(4_000_000_000L, rows(counts(4_000_000_000L, true), endsAndRows()).get().rows());
  }

  @Test
  void countedColumnsHaveTheirNulls() throws IOException {
    assertEquals("-1 5 null null", values(rows(COUNTS, counted("n")).get(), "n"));
    assertFalse(rows(COUNTS, counted("t")).isPresent(), "its nulls are not known");
    assertFalse(rows(COUNTS, counted("n", "t")).isPresent());
  }

  @Test
  void endsNeedRoomAmongTheRows() {
    assertFalse(rows(counts(1, true), endsAndRows("n")).isPresent());
    assertFalse(rows(counts(3, true), counted("n")).isPresent());
    assertFalse(rows(counts(0, true), endsAndRows("n")).isPresent());
  }

  @Test
  void aSingleValueIsBothEnds() throws IOException {
    ColumnSummary single = numbers("n", true).setNulls(2);
    single.setLeast(single.getGreatest());
    List<ColumnSummary> columns = Collections.singletonList(single);
    TableDescription table = TableDescription.of(columns, counts(3, true));
    assertEquals("5 null null", values(ExtremeRows.of(counted("n"), table).get(), "n"));
    TableDescription shorter = TableDescription.of(columns, counts(2, true));
    assertFalse(ExtremeRows.of(counted("n"), shorter).isPresent());
  }

  @Test
  void onlyExactNumbersOfRowsCount() {
    PruneCounts unknown = new PruneCounts(7, 0, 1, 0, 700, 0, 1).setRowsAreExact(true);
    for (PruneCounts counts : Arrays.asList(counts(4, false), unknown)) {
      assertFalse(rows(counts, endsAndRows()).isPresent());
      assertFalse(rows(counts, endsAndRows("n")).isPresent());
      assertFalse(rows(counts, counted("n")).isPresent());
      assertTrue(rows(counts, ends("n")).isPresent());
    }
    assertFalse(rows(null, endsAndRows()).isPresent());
  }

  @Test
  void runsOfRowsThatAreAlikeEndWhereAColumnChanges() {
    ExtremeRows rows = rows(counts(5000, true), counted("n")).get();
    assertEquals(1, rows.endOfRun(0));
    assertEquals(4998, rows.endOfRun(1));
    assertEquals(4998, rows.endOfRun(4997));
    assertEquals(5000, rows.endOfRun(4998));
  }

  @Test
  void tooManyRowsAreReadFromFiles() {
    assertTrue(ExtremeRows.isQuick(5_000_000, false));
    assertFalse(ExtremeRows.isQuick(5_000_001, false));
    assertTrue(ExtremeRows.isQuick(1_000_000_000, true));
    assertFalse(ExtremeRows.isQuick(1_000_000_001, true));
  }
}
