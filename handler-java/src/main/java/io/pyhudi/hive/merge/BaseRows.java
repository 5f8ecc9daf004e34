package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.ColumnChoice;
import io.pyhudi.hive.rows.SelectedContent;
import java.io.IOException;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rows of a slice's base file that Hudi gets.
 *
 * <p>Which ones these are is decided when it asks for the first one: it has read the log files
 * then. It gets all of them if they are not distinct.
 */
abstract class BaseRows implements ClosableIterator<IndexedRecord> {
  private static final Logger LOG = LoggerFactory.getLogger(BaseRows.class);

  private final LogKeys logKeys;
  private final Path path;
  private final long length;
  private final JobConf conf;
  private Schema required;
  private Opener opener;
  private HoodieStorage fileStorage;
  private KeyRows named;
  private boolean areAll;

  /**
   * @param logKeys filled when Hudi has read the log files
   * @param length of the file, bytes
   * @param conf by which the rows are served to Hudi
   */
  BaseRows(LogKeys logKeys, Path path, long length, JobConf conf) {
    this.logKeys = logKeys;
    this.path = path;
    this.length = length;
    this.conf = conf;
  }

  /** Opens Hudi's reader of the file. */
  interface Opener {
    /**
     * @param columns of the records
     */
    ClosableIterator<IndexedRecord> open(HoodieStorage storage, Schema columns) throws IOException;
  }

  final boolean areOf(StoragePath file) {
    return HadoopFSUtils.convertToHadoopPath(file).equals(path);
  }

  /**
   * Returns the rows.
   *
   * @param columns of the records that Hudi needs
   * @param storage that finds the file itself
   */
  final ClosableIterator<IndexedRecord> read(Schema columns, HoodieStorage storage, Opener hudi) {
    this.required = columns;
    this.fileStorage = storage;
    this.opener = hudi;
    return this;
  }

  /** Returns whether Hudi gets all rows: known as soon as it has asked for the first one. */
  final boolean areAll() {
    return areAll;
  }

  /** Returns the rows whose keys log files name; null if they are not known. */
  final KeyRows named() {
    return named;
  }

  final LogKeys logKeys() {
    return logKeys;
  }

  final Path path() {
    return path;
  }

  final long length() {
    return length;
  }

  /** Returns the columns of the records. */
  final Schema required() {
    return required;
  }

  final ColumnChoice columns() {
    return (schema, names) -> required.getField(names[0]) != null;
  }

  /** Returns the configuration in which the end of the file is fetched once for all readers. */
  final JobConf ofFile() {
    return new JobConf(fileStorage.getConf().unwrapAs(Configuration.class));
  }

  /** Finds the rows whose keys log files name. Returns null if they are not known. */
  final KeyRows findNamed() throws IOException {
    KeySet keys = logKeys.keys();
    if (keys != null && required.getField(HoodieRecord.RECORD_KEY_METADATA_FIELD) != null) {
      named = KeyRows.find(path, length, keys, ofFile());
    }
    return named;
  }

  /** Opens the whole file. */
  final ClosableIterator<IndexedRecord> all(String obstacle) throws IOException {
    LOG.info("{}: Hudi merges its slice as a whole: {}", path, obstacle);
    areAll = true;
    return opener.open(fileStorage, required);
  }

  /** Opens a part of the file. */
  final ClosableIterator<IndexedRecord> part(SelectedContent content, Schema columns)
      throws IOException {
    return opener.open(
        fileStorage.newInstance(
            HadoopFSUtils.convertToStoragePath(path),
            HadoopFSUtils.getStorageConf(content.serve(conf))),
        columns);
  }
}
