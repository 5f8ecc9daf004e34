package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.RowSelection;
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
  private SelectedParquet file;
  private SelectedRecords selected;
  private ClosableIterator<IndexedRecord> whole;

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
      file = SelectedParquet.open(path(), length(), wanted, columns(), ofFile());
    }
    if (file == null) {
      whole =
          all(
              wanted == null
                  ? "its keys or those of log files are not known"
                  : "its rows cannot be selected");
    } else {
      selected = new SelectedRecords(file, content -> part(content, required()));
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
      if (whole != null) {
        return whole.hasNext();
      }
      if (selected == null) {
        return false;
      }
      while (!selected.hasNext()) {
        if (!selected.openNext()) {
          return false;
        }
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
    return whole == null ? selected.next() : whole.next();
  }

  @Override
  public void close() {
    if (whole != null) {
      whole.close();
      whole = null;
    }
    if (selected != null) {
      selected.close();
    }
    if (file != null) {
      try {
        file.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
