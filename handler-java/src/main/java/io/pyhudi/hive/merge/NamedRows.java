package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.ColumnChoice;
import io.pyhudi.hive.rows.SelectedParquet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.NoSuchElementException;
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
  private ClosableIterator<IndexedRecord> all;
  private KeyRows named;
  private SelectedParquet rows;
  private NamedFields fields;
  private long next;

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
    /**
     * @param columns of the records
     */
    ClosableIterator<IndexedRecord> open(HoodieStorage storage, Schema columns) throws IOException;
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
    KeySet keys = logKeys.keys();
    if (keys != null && required.getField(HoodieRecord.RECORD_KEY_METADATA_FIELD) != null) {
      found = KeyRows.find(path, length, keys, ofFile());
      obstacle = found == null ? "it has no column of keys" : obstacle(found);
    }
    if (obstacle == null) {
      named = found;
    } else {
      LOG.info("{}: Hudi merges its slice as a whole: {}", path, obstacle);
      all = opener.open(fileStorage, required);
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
    if (rows == null || !rows.hasPages()) {
      return "its rows cannot be selected";
    }
    fields =
        NamedFields.of(
            required,
            logKeys.ordering(),
            found,
            rows,
            (content, schema) ->
                opener.open(
                    fileStorage.newInstance(
                        HadoopFSUtils.convertToStoragePath(path),
                        HadoopFSUtils.getStorageConf(content.serve(conf))),
                    schema));
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
    return named == null ? all.hasNext() : next < named.rows().count();
  }

  @Override
  public IndexedRecord next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return named == null ? all.next() : new NamedRecord(fields, next++);
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
