package io.pyhudi.hive.read;

import io.pyhudi.hive.rows.RowRanges;
import java.io.IOException;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.RecordReader;

/** Rows of a base file that Hive's readers read, but that another reader returns. */
final class HiddenRows {
  private final RowRanges hidden;
  private final RowRanges all;

  private HiddenRows(RowRanges hidden, RowRanges all) {
    this.hidden = hidden;
    this.all = all;
  }

  /**
   * @param hidden the rows
   * @param fileRows the number of all rows in the file
   */
  static HiddenRows of(RowRanges hidden, long fileRows) {
    return new HiddenRows(hidden, RowRanges.between(0, fileRows));
  }

  /** Hides the rows from what one of Hive's readers reads of the whole file. */
  <V> RecordReader<NullWritable, V> in(RecordReader<NullWritable, V> reader) {
    return in(reader, all);
  }

  /**
   * Hides the rows from what one of Hive's readers reads.
   *
   * @param read the rows that it reads, in their order, none of which it drops
   */
  <V> RecordReader<NullWritable, V> in(RecordReader<NullWritable, V> reader, RowRanges read) {
    return new Visible<>(reader, read.places(hidden), read.count());
  }

  /** Returns the other rows, one by one or in batches. */
  private static final class Visible<V> extends ForwardingReader<V> {
    private final RecordReader<NullWritable, V> reader;
    private final RowRanges places;
    private final RowRanges.Cursor cursor;
    private final long rows;
    private long passed;

    /**
     * @param places of hidden rows among all that the reader reads
     * @param rows the number of these
     */
    Visible(RecordReader<NullWritable, V> reader, RowRanges places, long rows) {
      this.reader = reader;
      this.places = places;
      this.cursor = places.cursor();
      this.rows = rows;
    }

    @Override
    public boolean next(NullWritable key, V value) throws IOException {
      while (reader.next(key, value)) {
        boolean isVisible =
            value instanceof VectorizedRowBatch
                ? hide((VectorizedRowBatch) value)
                : !cursor.contains(passed++);
        if (isVisible) {
          return true;
        }
      }
      // Places are counted, so each row must have come.
      if (passed != rows) {
        throw new IOException("Hive's reader returned " + passed + " rows of " + rows);
      }
      return false;
    }

    /** Returns whether a row is left. */
    private boolean hide(VectorizedRowBatch batch) throws IOException {
      if (batch.selectedInUse) {
        throw new IOException("Hive's reader returned a part of its rows");
      }
      long first = passed;
      passed += batch.size;
      if (places.intersect(first, passed).isEmpty()) {
        return true;
      }
      int left = 0;
      for (int i = 0; i < batch.size; i++) {
        if (!cursor.contains(first + i)) {
          batch.selected[left++] = i;
        }
      }
      batch.selectedInUse = true;
      batch.size = left;
      return left > 0;
    }

    @Override
    RecordReader<NullWritable, V> reader() {
      return reader;
    }
  }
}
