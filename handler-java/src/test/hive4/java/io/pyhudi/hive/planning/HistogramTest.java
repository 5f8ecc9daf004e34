package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.hadoop.hive.ql.optimizer.calcite.stats.FilterSelectivityEstimator;
import org.apache.hive.org.apache.datasketches.kll.KllFloatsSketch;
import org.apache.hive.org.apache.datasketches.memory.Memory;
import org.junit.jupiter.api.Test;

/** Hive's own sketches and estimates, of the bytes that are written. */
class HistogramTest {
  private static KllFloatsSketch read(byte[] written) {
    return KllFloatsSketch.heapify(Memory.wrap(written));
  }

  private static double share(KllFloatsSketch values, double least, double greatest) {
    return FilterSelectivityEstimator.betweenSelectivity(values, (float) least, (float) greatest);
  }

  @Test
  void eachNumberOfValuesIsKept() {
    for (long rows : new long[] {2, 3, 100, 8191, 8192, 8193, 20_000, 73_049, 999_999, 1_000_000}) {
      KllFloatsSketch values = read(Histogram.ofNumbers(1, 50_000, 1, rows));
      assertEquals(rows, values.getN());
      assertEquals(1, values.getMinValue());
      assertEquals(50_000, values.getMaxValue());
      assertEquals(0.5, share(values, 1, 25_000), rows < 100 ? 0.2 : 0.01);
    }
  }

  @Test
  void aMonthIsAMonth() {
    // The days of TPC-DS, 200 years.
    KllFloatsSketch days = read(Histogram.ofNumbers(-25_566, 47_482, 86_400, 73_049));
    double month = share(days, 11_192 * 86_400.0, 11_222 * 86_400.0);
    assertEquals(31.0 / 73_049, month, 10.0 / 73_049);
  }

  @Test
  void eachOfFewNumbersHasItsShare() {
    KllFloatsSketch quarters = read(Histogram.ofNumbers(1, 4, 1, 10_000));
    assertEquals(0.25, FilterSelectivityEstimator.lessThanOrEqualSelectivity(quarters, 1), 0.01);
    assertEquals(0.5, share(quarters, 2, 3), 0.01);
  }

  @Test
  void otherNumbersLieEvenly() {
    KllFloatsSketch prices = read(Histogram.ofRange(0.5, 100.5, 30_000));
    assertEquals(0.1, share(prices, 10.5, 20.5), 0.01);
  }

  @Test
  void oneValueIsNoRange() {
    assertNull(Histogram.ofNumbers(7, 7, 1, 1));
    assertNull(Histogram.ofNumbers(7, 7, 1, 0));
    assertEquals(1, share(read(Histogram.ofNumbers(7, 7, 1, 500)), 6, 8), 0.01);
  }

  @Test
  void largeTablesHaveNone() {
    assertNull(Histogram.ofNumbers(1, 1000, 1, Histogram.MOST_ROWS + 1));
  }
}
