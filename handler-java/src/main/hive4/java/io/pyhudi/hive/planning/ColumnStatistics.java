package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.Literal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.BinaryColumnStatsData;
import org.apache.hadoop.hive.metastore.api.BooleanColumnStatsData;
import org.apache.hadoop.hive.metastore.api.ColumnStatisticsData;
import org.apache.hadoop.hive.metastore.api.ColumnStatisticsObj;
import org.apache.hadoop.hive.metastore.api.Date;
import org.apache.hadoop.hive.metastore.api.DateColumnStatsData;
import org.apache.hadoop.hive.metastore.api.Decimal;
import org.apache.hadoop.hive.metastore.api.DecimalColumnStatsData;
import org.apache.hadoop.hive.metastore.api.DoubleColumnStatsData;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.LongColumnStatsData;
import org.apache.hadoop.hive.metastore.api.StringColumnStatsData;
import org.apache.hadoop.hive.metastore.api.Timestamp;
import org.apache.hadoop.hive.metastore.api.TimestampColumnStatsData;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector.PrimitiveCategory;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;

/**
 * Column statistics from the pruning service's indexes, in the form of Hive's planner. The planner
 * uses them to estimate how many rows pass a filter or a join, never to skip a row.
 */
public final class ColumnStatistics {
  /** The largest share of files kept by an equality for which waiting for the keys pays off. */
  private static final double WORTHWHILE = 0.5;

  private final Map<String, ColumnSummary> columns;

  private ColumnStatistics(Map<String, ColumnSummary> columns) {
    this.columns = columns;
  }

  /** Returns the statistics as of now, or empty ones. Never fails. */
  public static ColumnStatistics of(Configuration conf, Path basePath, PruningSettings settings) {
    return of(TableDescription.of(conf, basePath, settings));
  }

  static ColumnStatistics none() {
    return new ColumnStatistics(Collections.emptyMap());
  }

  static ColumnStatistics of(TableDescription table) {
    return new ColumnStatistics(table.columns());
  }

  /** Returns whether an equality on the column is known to keep most of the files. */
  public boolean keepsMostFiles(String column) {
    ColumnSummary summary = summary(column);
    return summary.isSetKeptByEquality() && summary.getKeptByEquality() > WORTHWHILE;
  }

  /**
   * Returns whether a column may have every value from its least to its greatest, and those of
   * another column are all between them. So few files of the other column's table have none of this
   * one's values.
   *
   * @param rows an upper bound of the table's rows
   */
  boolean mayHaveAllValuesOf(
      String column, long rows, ColumnStatistics others, String otherColumn) {
    ColumnSummary own = summary(column);
    ColumnSummary other = others.summary(otherColumn);
    double least = number(own.getLeast());
    double greatest = number(own.getGreatest());
    return distinct(own, rows) > greatest - least
        && least <= number(other.getLeast())
        && number(other.getGreatest()) <= greatest;
  }

  private ColumnSummary summary(String column) {
    return columns.getOrDefault(column.toLowerCase(Locale.ROOT), new ColumnSummary(column));
  }

  /** Returns an upper bound. */
  private static long distinct(ColumnSummary summary, long rows) {
    long values = Math.max(0, rows - summary.getNulls());
    return summary.isSetDistinct() ? Math.min(values, summary.getDistinct()) : values;
  }

  /** Returns an integer or a day as a number; NaN for others and for null. */
  private static double number(Literal literal) {
    if (literal != null && literal.isSetIntegerValue()) {
      return literal.getIntegerValue();
    }
    return literal != null && literal.isSetEpochDays() ? literal.getEpochDays() : Double.NaN;
  }

  /**
   * Returns the statistics in Hive's form, for the columns with enough information. The list is
   * modifiable.
   *
   * @param rows an upper bound of the table's rows
   * @param distinctShare the assumed ratio of distinct values to rows for a column without a
   *     distinct count
   */
  public List<ColumnStatisticsObj> of(List<FieldSchema> fields, long rows, double distinctShare) {
    List<ColumnStatisticsObj> statistics = new ArrayList<>();
    for (FieldSchema field : fields) {
      ColumnSummary summary = columns.get(field.getName());
      TypeInfo type = TypeInfoUtils.getTypeInfoFromTypeString(field.getType());
      if (summary != null && summary.isSetNulls() && type instanceof PrimitiveTypeInfo) {
        PrimitiveCategory category = ((PrimitiveTypeInfo) type).getPrimitiveCategory();
        ColumnStatisticsData data = data(category, summary, rows, distinctShare);
        if (data != null) {
          statistics.add(new ColumnStatisticsObj(field.getName(), field.getType(), data));
        }
      }
    }
    return statistics;
  }

  private static ColumnStatisticsData data(
      PrimitiveCategory category, ColumnSummary summary, long rows, double distinctShare) {
    long nulls = summary.getNulls();
    long values = Math.max(0, rows - nulls);
    long estimated = (long) Math.ceil(values * distinctShare);
    long distinct = Math.min(values, summary.isSetDistinct() ? summary.getDistinct() : estimated);
    Literal least = summary.getLeast();
    Literal greatest = summary.getGreatest();
    switch (category) {
      case BYTE:
      case SHORT:
      case INT:
      case LONG:
        return isInteger(least) ? longs(nulls, distinct, least, greatest) : null;
      case FLOAT:
      case DOUBLE:
        return isDouble(least) ? doubles(nulls, distinct, least, greatest) : null;
      case DECIMAL:
        DecimalColumnStatsData decimals = new DecimalColumnStatsData(nulls, distinct);
        if (least != null && least.isSetUnscaledValue()) {
          decimals.setLowValue(decimal(least));
          decimals.setHighValue(decimal(greatest));
        }
        return ColumnStatisticsData.decimalStats(decimals);
      case DATE:
        DateColumnStatsData dates = new DateColumnStatsData(nulls, distinct);
        if (least != null && least.isSetEpochDays()) {
          dates.setLowValue(new Date(least.getEpochDays()));
          dates.setHighValue(new Date(greatest.getEpochDays()));
        }
        return ColumnStatisticsData.dateStats(dates);
      case TIMESTAMP:
        TimestampColumnStatsData timestamps = new TimestampColumnStatsData(nulls, distinct);
        if (least != null && least.isSetEpochSeconds()) {
          timestamps.setLowValue(new Timestamp(least.getEpochSeconds()));
          timestamps.setHighValue(new Timestamp(greatest.getEpochSeconds()));
        }
        return ColumnStatisticsData.timestampStats(timestamps);
      case BOOLEAN:
        return ColumnStatisticsData.booleanStats(
            new BooleanColumnStatsData(values / 2, values - values / 2, nulls));
      case STRING:
      case VARCHAR:
      case CHAR:
        return ColumnStatisticsData.stringStats(
            new StringColumnStatsData(longest(summary), summary.getLength(), nulls, distinct));
      case BINARY:
        return ColumnStatisticsData.binaryStats(
            new BinaryColumnStatsData(longest(summary), summary.getLength(), nulls));
      default:
        return null;
    }
  }

  /** Without its ends Hive takes an integer's for 0. */
  private static boolean isInteger(Literal least) {
    return least != null && least.isSetIntegerValue();
  }

  private static boolean isDouble(Literal least) {
    return least != null && least.isSetDoubleValue();
  }

  private static ColumnStatisticsData longs(
      long nulls, long distinct, Literal least, Literal greatest) {
    LongColumnStatsData data = new LongColumnStatsData(nulls, distinct);
    data.setLowValue(least.getIntegerValue());
    data.setHighValue(greatest.getIntegerValue());
    return ColumnStatisticsData.longStats(data);
  }

  private static ColumnStatisticsData doubles(
      long nulls, long distinct, Literal least, Literal greatest) {
    DoubleColumnStatsData data = new DoubleColumnStatsData(nulls, distinct);
    data.setLowValue(least.getDoubleValue());
    data.setHighValue(greatest.getDoubleValue());
    return ColumnStatisticsData.doubleStats(data);
  }

  private static Decimal decimal(Literal literal) {
    return new Decimal((short) literal.getScale(), ByteBuffer.wrap(literal.getUnscaledValue()));
  }

  private static long longest(ColumnSummary summary) {
    return (long) Math.ceil(summary.getLength());
  }
}
