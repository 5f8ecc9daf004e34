package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.RowRanges;
import io.pyhudi.hive.rows.SelectedContent;
import io.pyhudi.hive.rows.SelectedParquet;
import java.io.Closeable;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.common.util.collection.ClosableIterator;

/**
 * Some columns of those rows of a base file that log files name. They are read by Hudi's reader,
 * from the first row on, when one of them is asked for.
 */
final class NamedColumns implements Closeable {
  private final SelectedParquet file;
  private final RowRanges named;
  private final Schema columns;
  private final Opener opener;
  private int nextContent;
  private SelectedContent content;
  private ClosableIterator<IndexedRecord> records;
  private RowRanges.Cursor places;
  private long place;
  private IndexedRecord current;
  private long passed;

  /**
   * @param file of at least the named rows and these columns
   * @param columns of the records
   */
  NamedColumns(SelectedParquet file, RowRanges named, Schema columns, Opener opener) {
    this.file = file;
    this.named = named;
    this.columns = columns;
    this.opener = opener;
  }

  /** Opens Hudi's reader. */
  interface Opener {
    ClosableIterator<IndexedRecord> open(SelectedContent content, Schema columns)
        throws IOException;
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
      closeCurrent();
      nextContent = 0;
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
      while (records == null || !records.hasNext()) {
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
    if (content != null && place != content.rows().count()) {
      throw new IOException(
          content.path() + ": Hudi read " + place + " rows, not " + content.rows().count());
    }
    closeCurrent();
    if (nextContent == file.contents()) {
      throw new IOException("only " + passed + " of the rows " + named + " can be read");
    }
    content = file.content(nextContent++);
    places = content.rows().places(named).cursor();
    place = 0;
    records = opener.open(content, columns);
  }

  private void closeCurrent() {
    if (content != null) {
      content.withdraw();
      content = null;
    }
    if (records != null) {
      records.close();
      records = null;
    }
  }

  @Override
  public void close() {
    closeCurrent();
  }
}
