package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.Literal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.metastore.api.ColumnStatisticsData;
import org.apache.hadoop.hive.metastore.api.ColumnStatisticsObj;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.plan.ColStatistics;
import org.apache.hadoop.hive.ql.stats.StatsUtils;
import org.junit.jupiter.api.Test;

class ColumnStatisticsTest {
  private static final long ROWS = 1000;
  private static final double SHARE = 0.2;

  private static ColumnSummary summary(String name, Literal least, Literal greatest) {
    ColumnSummary summary = new ColumnSummary(name);
    summary.setNulls(100);
    summary.setLeast(least);
    summary.setGreatest(greatest);
    return summary;
  }

  /** As Hive's planner sees the statistics of one column. */
  private static ColStatistics planned(String type, ColumnSummary summary) {
    List<ColumnStatisticsObj> found = statistics(type, summary);
    assertEquals(1, found.size());
    return StatsUtils.getColStatistics(found.get(0), "t", found.get(0).getColName());
  }

  private static List<ColumnStatisticsObj> statistics(String type, ColumnSummary... summaries) {
    FieldSchema field = new FieldSchema("c", type, null);
    return ColumnStatistics.of(TableDescription.of(Arrays.asList(summaries), null))
        .of(Collections.singletonList(field), ROWS, SHARE);
  }

  private static void assertRange(Number least, Number greatest, ColStatistics statistics) {
    assertEquals(least, statistics.getRange().minValue);
    assertEquals(greatest, statistics.getRange().maxValue);
    assertEquals(100, statistics.getNumNulls());
  }

  @Test
  void integersHaveTheirEndsAndAtMostAsManyValuesAsThereAreBetweenThem() {
    ColumnSummary summary =
        summary(
            "C", new Literal("int").setIntegerValue(-5), new Literal("int").setIntegerValue(20));
    summary.setDistinct(26);
    for (String type : Arrays.asList("tinyint", "smallint", "int", "bigint")) {
      ColStatistics statistics = planned(type, summary);
      assertRange(-5L, 20L, statistics);
      assertEquals(26, statistics.getCountDistint());
    }
    summary.setDistinct(1L << 40);
    assertEquals(ROWS - 100, planned("bigint", summary).getCountDistint());
  }

  @Test
  void otherTypesHaveThemTooAndHivesShareOfTheRowsForValues() {
    assertRange(
        -0.5,
        1e300,
        planned(
            "double",
            summary(
                "c",
                new Literal("double").setDoubleValue(-0.5),
                new Literal("double").setDoubleValue(1e300))));
    Literal day = new Literal("date").setEpochDays(-3);
    assertRange(-3L, 7L, planned("date", summary("c", day, new Literal("date").setEpochDays(7))));
    Literal first = new Literal("timestamp").setEpochSeconds(-9).setNanos(5);
    Literal last = new Literal("timestamp").setEpochSeconds(99).setNanos(0);
    assertRange(-9L, 99L, planned("timestamp", summary("c", first, last)));
    ColStatistics decimals =
        planned("decimal(9,2)", summary("c", decimal("-1234", 2), decimal("5600", 2)));
    assertEquals("-12.34", decimals.getRange().minValue.toString());
    assertEquals(56, decimals.getRange().maxValue.intValue());
    assertEquals(180, decimals.getCountDistint());
  }

  private static Literal decimal(String unscaled, int scale) {
    byte[] bytes = new BigInteger(unscaled).toByteArray();
    return new Literal("decimal(9,2)").setUnscaledValue(ByteBuffer.wrap(bytes)).setScale(scale);
  }

  @Test
  void textsHaveALengthAndBooleansTwoValues() {
    ColumnSummary text = summary("c", null, null);
    text.setLength(7.5);
    for (String type : Arrays.asList("string", "varchar(20)", "char(9)")) {
      ColStatistics statistics = planned(type, text);
      assertEquals(7.5, statistics.getAvgColLen());
      assertEquals(180, statistics.getCountDistint());
    }
    assertEquals(7.5, planned("binary", text).getAvgColLen());
    ColStatistics flags = planned("boolean", summary("c", null, null));
    assertEquals(2, flags.getCountDistint());
    assertEquals(ROWS - 100, flags.getNumTrues() + flags.getNumFalses());
  }

  @Test
  void unknownStatisticsAreLeftToHive() {
    // An integer without ends would be one between 0 and 0.
    assertTrue(statistics("int", summary("c", null, null)).isEmpty());
    assertTrue(statistics("double", summary("c", null, null)).isEmpty());
    assertTrue(statistics("int").isEmpty());
    assertTrue(statistics("array<int>", summary("c", null, null)).isEmpty());
    ColumnSummary uncounted =
        new ColumnSummary("c")
            .setLeast(new Literal("int").setIntegerValue(1))
            .setGreatest(new Literal("int").setIntegerValue(2));
    assertTrue(statistics("int", uncounted).isEmpty());
    ColumnStatisticsData dates = statistics("date", summary("c", null, null)).get(0).getStatsData();
    assertFalse(dates.getDateStats().isSetLowValue());
  }

  @Test
  void detectsEqualitiesThatKeepMostFiles() {
    ColumnStatistics known =
        ColumnStatistics.of(
            TableDescription.of(
                Arrays.asList(
                    new ColumnSummary("Spread").setKeptByEquality(0.9),
                    new ColumnSummary("sorted").setKeptByEquality(0.1),
                    new ColumnSummary("unknown")),
                null));
    assertTrue(known.keepsMostFiles("spread"));
    for (String column : Arrays.asList("sorted", "unknown", "missing")) {
      assertFalse(known.keepsMostFiles(column));
    }
  }

  private static ColumnStatistics between(String type, long least, long greatest) {
    boolean isDate = type.equals("date");
    ColumnSummary summary =
        summary(
            "c",
            isDate ? new Literal(type).setEpochDays((int) least) : integer(least),
            isDate ? new Literal(type).setEpochDays((int) greatest) : integer(greatest));
    return ColumnStatistics.of(TableDescription.of(Collections.singletonList(summary), null));
  }

  private static Literal integer(long value) {
    return new Literal("bigint").setIntegerValue(value);
  }

  private static boolean mayHaveAll(ColumnStatistics own, ColumnStatistics other) {
    return own.mayHaveAllValuesOf("c", ROWS, other, "C");
  }

  @Test
  void aColumnMayHaveAllValuesOfOneWhoseRangeItFills() {
    // 900 values, the other rows are NULL.
    ColumnStatistics filled = between("int", 1, 900);
    assertTrue(mayHaveAll(filled, filled));
    assertTrue(mayHaveAll(filled, between("int", 300, 400)));
    assertTrue(mayHaveAll(between("date", -100, 700), between("date", 1, 2)));

    assertFalse(mayHaveAll(between("int", 1, 901), filled));
    assertFalse(mayHaveAll(filled, between("int", 0, 900)));
    assertFalse(mayHaveAll(filled, between("int", 1, 901)));
    assertFalse(mayHaveAll(between("bigint", Long.MIN_VALUE, Long.MAX_VALUE), filled));
  }

  @Test
  void ofAnUnknownRangeNothingIsSaid() {
    ColumnStatistics filled = between("int", 1, 900);
    ColumnStatistics texts =
        ColumnStatistics.of(
            TableDescription.of(
                Collections.singletonList(summary("c", text("a"), text("b"))), null));
    for (ColumnStatistics unknown : Arrays.asList(ColumnStatistics.none(), texts)) {
      assertFalse(mayHaveAll(unknown, filled));
      assertFalse(mayHaveAll(filled, unknown));
    }
  }

  private static Literal text(String value) {
    return new Literal("string").setStringValue(value);
  }
}
