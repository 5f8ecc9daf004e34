package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.SelectedContent;
import io.pyhudi.hive.rows.SelectedParquet;
import java.io.Closeable;
import java.io.IOException;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.common.util.collection.ClosableIterator;

/** The selected rows of a file by Hudi's readers, one content after another. */
final class SelectedRecords implements Closeable {
  private final SelectedParquet file;
  private final Opener opener;
  private int nextContent;
  private SelectedContent content;
  private ClosableIterator<IndexedRecord> records;

  /**
   * @param file not closed with the records
   */
  SelectedRecords(SelectedParquet file, Opener opener) {
    this.file = file;
    this.opener = opener;
  }

  /** Opens Hudi's reader. */
  interface Opener {
    ClosableIterator<IndexedRecord> open(SelectedContent content) throws IOException;
  }

  /** Opens the next content in place of the one before. Returns false if there is none. */
  boolean openNext() throws IOException {
    close();
    if (nextContent == file.contents()) {
      return false;
    }
    content = file.content(nextContent++);
    records = opener.open(content);
    return true;
  }

  /** Makes the first content the next one. */
  void restart() {
    close();
    nextContent = 0;
  }

  /** Returns the content that is open, or null. */
  SelectedContent content() {
    return content;
  }

  /** Returns whether the content that is open has another record. */
  boolean hasNext() {
    return records != null && records.hasNext();
  }

  /** Returns the next record of the content that is open. */
  IndexedRecord next() {
    return records.next();
  }

  @Override
  public void close() {
    if (content != null) {
      content.withdraw();
      content = null;
    }
    if (records != null) {
      records.close();
      records = null;
    }
  }
}
