package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.RowRanges;
import io.pyhudi.hive.rows.SelectedContent;
import java.io.Closeable;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;

/**
 * Some columns of those rows of a base file that log files name. They are read by Hudi's reader,
 * from the first row on, when one of them is asked for.
 */
final class NamedColumns implements Closeable {
  private final SelectedRecords records;
  private final RowRanges named;
  private final Schema columns;
  private RowRanges.Cursor places;
  private long place;
  private IndexedRecord current;
  private long passed;

  /**
   * @param records of at least the named rows
   * @param columns of the records
   */
  NamedColumns(SelectedRecords records, RowRanges named, Schema columns) {
    this.records = records;
    this.named = named;
    this.columns = columns;
  }

  Schema schema() {
    return columns;
  }

  /**
   * Returns the columns of a row. To ask for a row again, or for one before it, starts anew.
   *
   * @param number of the row among the named ones, from 0
   */
  IndexedRecord row(long number) throws IOException {
    if (number + 1 < passed) {
      records.restart();
      passed = 0;
    }
    while (passed <= number) {
      current = next();
      passed++;
    }
    return current;
  }

  private IndexedRecord next() throws IOException {
    while (true) {
      while (!records.hasNext()) {
        openNext();
      }
      // A row group may have been read whole.
      IndexedRecord record = records.next();
      if (places.contains(place++)) {
        return record;
      }
    }
  }

  private void openNext() throws IOException {
    // The rows are found by their places, so each must have come.
    SelectedContent read = records.content();
    if (read != null && place != read.rows().count()) {
      throw new IOException(
          read.path() + ": Hudi read " + place + " rows, not " + read.rows().count());
    }
    if (!records.openNext()) {
      throw new IOException("only " + passed + " of the rows " + named + " can be read");
    }
    places = records.content().rows().places(named).cursor();
    place = 0;
  }

  @Override
  public void close() {
    records.close();
  }
}
