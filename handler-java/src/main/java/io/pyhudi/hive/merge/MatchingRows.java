package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.RowSelection;
import io.pyhudi.hive.rows.SelectedContent;
import io.pyhudi.hive.rows.SelectedParquet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.NoSuchElementException;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.util.collection.ClosableIterator;

/**
 * The rows of a base file that can match, and those whose keys the log files name, for Hudi if it
 * is the file's only reader.
 */
final class MatchingRows extends BaseRows {
  private final boolean hasLogFiles;
  private final RowSelection matching;
  private boolean isOpen;
  private SelectedParquet rows;
  private int nextContent;
  private SelectedContent content;
  private ClosableIterator<IndexedRecord> current;

  /**
   * @param matching the rows that can match if no log file changes them
   */
  MatchingRows(
      LogKeys logKeys,
      Path path,
      long length,
      JobConf conf,
      boolean hasLogFiles,
      RowSelection matching) {
    super(logKeys, path, length, conf);
    this.hasLogFiles = hasLogFiles;
    this.matching = matching;
  }

  private void open() throws IOException {
    isOpen = true;
    RowSelection wanted = hasLogFiles ? withNamed() : matching;
    if (wanted != null && wanted.ranges().isEmpty()) {
      return;
    }
    if (wanted != null) {
      rows = SelectedParquet.open(path(), length(), wanted, columns(), ofFile());
    }
    if (rows == null) {
      current =
          all(
              wanted == null
                  ? "its keys or those of log files are not known"
                  : "its rows cannot be selected");
    }
  }

  private RowSelection withNamed() throws IOException {
    KeyRows named = findNamed();
    return named == null ? null : matching.with(named.rows());
  }

  @Override
  public boolean hasNext() {
    try {
      if (!isOpen) {
        open();
      }
      while (current == null || !current.hasNext()) {
        if (rows == null || nextContent == rows.contents()) {
          return false;
        }
        closeCurrent();
        content = rows.content(nextContent++);
        current = part(content, required());
      }
      return true;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public IndexedRecord next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return current.next();
  }

  private void closeCurrent() {
    if (content != null) {
      content.withdraw();
      content = null;
    }
    if (current != null) {
      current.close();
      current = null;
    }
  }

  @Override
  public void close() {
    closeCurrent();
    if (rows != null) {
      try {
        rows.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
