package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.ColumnChoice;
import io.pyhudi.hive.rows.SelectedContent;
import io.pyhudi.hive.rows.SelectedParquet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.util.collection.ClosableIterator;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StoragePath;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rows of a base file that Hudi gets to merge them: those whose keys the log files name.
 *
 * <p>Hudi returns each other row as it is, whatever the table's merge rules, so another reader may
 * read these. Which rows Hudi gets is decided when it asks for the first one: it has read the log
 * files then. It gets all of them if they cannot be told apart.
 */
final class NamedRows implements ClosableIterator<IndexedRecord> {
  private static final Logger LOG = LoggerFactory.getLogger(NamedRows.class);

  private final LogKeys logKeys;
  private final Path path;
  private final long length;
  private final JobConf conf;
  private final Predicate<MessageType> isForOthers;
  private Schema required;
  private Opener opener;
  private HoodieStorage fileStorage;
  private boolean isOpen;
  private Set<Binary> keys;
  private KeyRows named;
  private SelectedParquet rows;
  private int nextContent;
  private SelectedContent content;
  private ClosableIterator<IndexedRecord> current;
  private int keyField;
  private IndexedRecord next;
  private long returned;

  /**
   * @param logKeys filled when Hudi has read the log files
   * @param length of the file, bytes
   * @param conf by which the rows are served to Hudi
   * @param isForOthers whether another reader returns the same values from a file of this schema
   */
  NamedRows(
      LogKeys logKeys, Path path, long length, JobConf conf, Predicate<MessageType> isForOthers) {
    this.logKeys = logKeys;
    this.path = path;
    this.length = length;
    this.conf = conf;
    this.isForOthers = isForOthers;
  }

  /** Opens Hudi's reader of the file. */
  interface Opener {
    ClosableIterator<IndexedRecord> open(HoodieStorage storage) throws IOException;
  }

  boolean areOf(StoragePath file) {
    return HadoopFSUtils.convertToHadoopPath(file).equals(path);
  }

  /**
   * Returns the rows.
   *
   * @param columns of the records that Hudi needs
   * @param storage that finds the file itself
   */
  ClosableIterator<IndexedRecord> read(Schema columns, HoodieStorage storage, Opener hudi) {
    this.required = columns;
    this.fileStorage = storage;
    this.opener = hudi;
    return this;
  }

  /**
   * Returns the rows that Hudi gets, or null if these are all of the file. They are known as soon
   * as Hudi has asked for the first one.
   */
  KeyRows named() {
    if (!isOpen) {
      throw new IllegalStateException("no row of " + path + " was asked for");
    }
    return named;
  }

  private void open() throws IOException {
    isOpen = true;
    KeyRows found = null;
    String obstacle = "keys of log files are not known";
    Schema.Field key = required.getField(HoodieRecord.RECORD_KEY_METADATA_FIELD);
    keys = logKeys.keys();
    if (keys != null && key != null) {
      found = KeyRows.find(path, length, keys, ofFile());
      keyField = key.pos();
      obstacle = found == null ? "it has no column of keys" : obstacle(found);
    }
    if (obstacle == null) {
      named = found;
    } else {
      LOG.info("{}: Hudi merges its slice as a whole: {}", path, obstacle);
      current = opener.open(fileStorage);
    }
  }

  /** Returns the configuration in which the end of the file is fetched once for all readers. */
  private JobConf ofFile() {
    return new JobConf(fileStorage.getConf().unwrapAs(Configuration.class));
  }

  /** Opens the rows. Returns what prevents that; null if they can be read. */
  private String obstacle(KeyRows found) throws IOException {
    if (!isForOthers.test(found.schema())) {
      return "a column is stored otherwise than the table declares it";
    }
    if (found.rows().isEmpty()) {
      return null;
    }
    ColumnChoice columns = (schema, names) -> required.getField(names[0]) != null;
    rows = SelectedParquet.open(path, length, found.rows(), columns, ofFile());
    return rows == null || !rows.hasPages() ? "its rows cannot be selected" : null;
  }

  @Override
  public boolean hasNext() {
    try {
      if (!isOpen) {
        open();
      }
      while (next == null && (current != null && current.hasNext() || openNext())) {
        IndexedRecord record = current.hasNext() ? current.next() : null;
        next = record == null || named == null || isNamed(record) ? record : null;
      }
      if (next == null) {
        requireAll();
      }
      return next != null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Fails if rows are missing that are hidden from the other reader. */
  private void requireAll() throws IOException {
    if (named != null && returned != named.rows().count()) {
      throw new IOException(
          path + ": " + returned + " rows have keys of log files, not " + named.rows().count());
    }
  }

  /** Returns whether Hudi finds a log record for a row: a row group may have been read whole. */
  private boolean isNamed(IndexedRecord record) {
    Object key = record.get(keyField);
    return key != null && keys.contains(Binary.fromString(key.toString()));
  }

  /** Opens the next part of the rows. Returns false if there is none. */
  private boolean openNext() throws IOException {
    if (named == null || rows == null || nextContent == rows.contents()) {
      return false;
    }
    closeCurrent();
    content = rows.content(nextContent++);
    JobConf served = content.serve(conf);
    current =
        opener.open(
            fileStorage.newInstance(
                HadoopFSUtils.convertToStoragePath(path), HadoopFSUtils.getStorageConf(served)));
    return true;
  }

  private void closeCurrent() {
    if (content != null) {
      content.withdraw();
    }
    if (current != null) {
      current.close();
      current = null;
    }
  }

  @Override
  public IndexedRecord next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    IndexedRecord record = next;
    next = null;
    returned++;
    return record;
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
