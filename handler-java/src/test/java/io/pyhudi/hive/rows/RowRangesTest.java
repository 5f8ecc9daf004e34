package io.pyhudi.hive.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RowRangesTest {
  private static final int ROWS = 60;

  private static BitSet some(Random random) {
    BitSet rows = new BitSet();
    double share = random.nextDouble();
    for (int row = 0; row < ROWS; row++) {
      rows.set(row, random.nextDouble() < share);
    }
    return rows;
  }

  private static RowRanges ranges(BitSet rows) {
    RowRanges.Collector collector = new RowRanges.Collector();
    rows.stream().forEach(row -> collector.add(row, row + 1));
    return collector.ranges();
  }

  @Test
  void collectedRowsAreJoined() {
    RowRanges.Collector collector = new RowRanges.Collector();
    collector.add(0, 2);
    collector.add(2, 2);
    collector.add(2, 3);
    collector.add(5, 7);
    assertEquals(RowRanges.of(new long[] {0, 5}, new long[] {3, 7}), collector.ranges());
  }

  @Test
  void placesAreThoseInTheSequenceOfRows() {
    Random random = new Random(1);
    for (int i = 0; i < 500; i++) {
      BitSet these = some(random);
      BitSet others = some(random);
      BitSet places = new BitSet();
      int place = 0;
      for (int row = these.nextSetBit(0); row >= 0; row = these.nextSetBit(row + 1)) {
        places.set(place++, others.get(row));
      }
      assertEquals(ranges(places), ranges(these).places(ranges(others)));
    }
  }

  @Test
  void rowsOfBothAreJoined() {
    Random random = new Random(2);
    for (int i = 0; i < 500; i++) {
      BitSet these = some(random);
      BitSet others = some(random);
      RowRanges joined = ranges(these).with(ranges(others));
      these.or(others);
      assertEquals(ranges(these), joined);
    }
  }
}
