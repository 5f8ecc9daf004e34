package io.pyhudi.hive.merge;

import io.pyhudi.hive.files.DataFile;
import io.pyhudi.hive.rows.RowSelection;
import io.pyhudi.hive.scan.MergedSlice;
import java.io.IOException;
import java.util.function.Predicate;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.ClosableIterator;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.parquet.schema.MessageType;

/** The rows of a slice after Hudi has merged its log files. */
public final class MergedRows implements ClosableIterator<IndexedRecord> {
  private final ClosableIterator<IndexedRecord> records;
  private final BaseRows rows;

  private MergedRows(ClosableIterator<IndexedRecord> records, BaseRows rows) {
    this.records = records;
    this.rows = rows;
  }

  /**
   * Reads all rows.
   *
   * @param requested the columns
   */
  public static MergedRows all(MergedSlice slice, TableAtInstant table, Schema requested)
      throws IOException {
    return open(slice, table, requested, conf(table), null);
  }

  /**
   * Reads the rows that log files may have changed: those of which they name the key. All others
   * are in the base file as they are ({@link #ofBaseFile}).
   *
   * @param slice with a base file, whose instants are all read
   * @param requested the columns
   * @param isForOthers whether another reader returns the same values from a base file
   */
  public static MergedRows named(
      MergedSlice slice, TableAtInstant table, Schema requested, Predicate<MessageType> isForOthers)
      throws IOException {
    HoodieBaseFile base = slice.slice().getBaseFile().get();
    JobConf conf = conf(table);
    BaseRows rows = new NamedRows(new LogKeys(), path(base), base.getFileSize(), conf, isForOthers);
    return open(slice, table, requested, conf, rows);
  }

  /**
   * Reads the rows that can match, and others.
   *
   * @param slice with a base file, whose instants are all read
   * @param requested the columns
   * @param matching the rows of the base file that can match if no log file changes them
   */
  public static MergedRows matching(
      MergedSlice slice, TableAtInstant table, Schema requested, RowSelection matching)
      throws IOException {
    HoodieBaseFile base = slice.slice().getBaseFile().get();
    JobConf conf = conf(table);
    BaseRows rows =
        new MatchingRows(
            new LogKeys(),
            path(base),
            base.getFileSize(),
            conf,
            slice.slice().hasLogFiles(),
            matching);
    return open(slice, table, requested, conf, rows);
  }

  private static JobConf conf(TableAtInstant table) {
    return new JobConf(table.metaClient().getStorageConf().unwrapAs(Configuration.class));
  }

  private static Path path(HoodieBaseFile base) {
    return HadoopFSUtils.convertToHadoopPath(base.getStoragePath());
  }

  private static MergedRows open(
      MergedSlice slice, TableAtInstant table, Schema requested, JobConf conf, BaseRows rows)
      throws IOException {
    Option<HoodieBaseFile> base = slice.slice().getBaseFile();
    DataFile.Opener<MergedRows> opener =
        settings -> {
          ClosableIterator<IndexedRecord> records = merge(slice, table, requested, settings, rows);
          if (rows != null) {
            // Hudi asks for rows of the base file first; its end is in memory here.
            records.hasNext();
          }
          return new MergedRows(records, rows);
        };
    return base.isPresent()
        ? DataFile.read(path(base.get()), base.get().getFileSize(), conf, opener)
        : opener.open(conf);
  }

  private static ClosableIterator<IndexedRecord> merge(
      MergedSlice slice, TableAtInstant table, Schema requested, JobConf conf, BaseRows rows)
      throws IOException {
    HoodieTableMetaClient metaClient = table.metaClient();
    TypedProperties properties = new TypedProperties();
    properties.putAll(metaClient.getTableConfig().getProps());
    FileGroupReading reading =
        FileGroupReading.of(slice.slice())
            .with(
                "ReaderContext",
                new MergeContext(metaClient, slice.commits(), rows, properties, conf))
            .with("HoodieTableMetaClient", metaClient)
            .with("LatestCommitTime", slice.instant())
            .with("DataSchema", HoodieSchema.fromAvroSchema(table.schema()))
            .with("RequestedSchema", HoodieSchema.fromAvroSchema(requested))
            .with("InternalSchema", table.internalSchema())
            .with("Props", properties);
    if (rows != null) {
      reading.with("RecordBufferLoader", rows.logKeys());
    }
    return reading.<IndexedRecord>build().getClosableIterator();
  }

  /** Returns whether all rows of the base file were read. */
  public boolean areAll() {
    return rows == null || rows.areAll();
  }

  /**
   * Returns which rows of the base file log files name; null if these are not known, or if all rows
   * of it are merged.
   */
  public KeyRows ofBaseFile() {
    return areAll() ? null : rows.named();
  }

  @Override
  public boolean hasNext() {
    return records.hasNext();
  }

  @Override
  public IndexedRecord next() {
    return records.next();
  }

  @Override
  public void close() {
    records.close();
  }
}
