package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.SelectedParquet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.NoSuchElementException;
import java.util.function.Predicate;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.util.collection.ClosableIterator;
import org.apache.parquet.schema.MessageType;

/**
 * The rows of a base file whose keys the log files name, for Hudi to merge them.
 *
 * <p>Hudi returns each other row as it is, whatever the table's merge rules, so another reader may
 * read these.
 */
final class NamedRows extends BaseRows {
  private final Predicate<MessageType> isForOthers;
  private boolean isOpen;
  private ClosableIterator<IndexedRecord> all;
  private SelectedParquet rows;
  private NamedFields fields;
  private long count;
  private long next;

  /**
   * @param isForOthers whether another reader returns the same values from a file of this schema
   */
  NamedRows(
      LogKeys logKeys, Path path, long length, JobConf conf, Predicate<MessageType> isForOthers) {
    super(logKeys, path, length, conf);
    this.isForOthers = isForOthers;
  }

  private void open() throws IOException {
    isOpen = true;
    KeyRows found = findNamed();
    String obstacle =
        found == null ? "its keys or those of log files are not known" : obstacle(found);
    if (obstacle == null) {
      count = found.rows().count();
    } else {
      all = all(obstacle);
    }
  }

  /** Opens the rows. Returns what prevents that; null if they can be read. */
  private String obstacle(KeyRows found) throws IOException {
    if (!isForOthers.test(found.schema())) {
      return "a column is stored otherwise than the table declares it";
    }
    if (found.rows().isEmpty()) {
      return null;
    }
    rows = SelectedParquet.open(path(), length(), found.rows(), columns(), ofFile());
    if (rows == null || !rows.hasPages()) {
      return "its rows cannot be selected";
    }
    fields = NamedFields.of(required(), logKeys().ordering(), found, rows, this::part);
    return null;
  }

  @Override
  public boolean hasNext() {
    try {
      if (!isOpen) {
        open();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return areAll() ? all.hasNext() : next < count;
  }

  @Override
  public IndexedRecord next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return areAll() ? all.next() : new NamedRecord(fields, next++);
  }

  @Override
  public void close() {
    if (all != null) {
      all.close();
    }
    if (fields != null) {
      fields.close();
    }
    if (rows != null) {
      try {
        rows.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
