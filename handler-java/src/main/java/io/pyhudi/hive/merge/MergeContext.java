package io.pyhudi.hive.merge;

import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.avro.HoodieAvroReaderContext;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.log.InstantRange;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.ParquetUtils;
import org.apache.hudi.common.util.collection.ClosableIterator;
import org.apache.hudi.common.util.collection.CloseableMappingIterator;
import org.apache.hudi.common.util.collection.Pair;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.io.storage.HoodieAvroFileReader;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathInfo;
import org.apache.parquet.schema.MessageType;

/** Hudi's Avro reader for merging, extended to read integer decimals correctly. */
final class MergeContext extends HoodieAvroReaderContext {
  private final BaseRows baseRows;
  private HoodieStorage storage;

  /**
   * @param commits whose rows are read; empty for all
   * @param baseRows the rows to read of the base file; null for all
   * @param conf the configuration by which the base file is opened
   */
  MergeContext(
      HoodieTableMetaClient metaClient,
      Set<String> commits,
      BaseRows baseRows,
      TypedProperties properties,
      Configuration conf) {
    super(
        HadoopFSUtils.getStorageConf(conf),
        metaClient.getTableConfig(),
        range(commits),
        Option.empty(),
        properties);
    this.baseRows = baseRows;
  }

  private static Option<InstantRange> range(Set<String> commits) {
    return commits.isEmpty()
        ? Option.empty()
        : Option.of(
            InstantRange.builder()
                .rangeType(InstantRange.RangeType.EXACT_MATCH)
                .explicitInstants(commits)
                .build());
  }

  @Override
  public ClosableIterator<IndexedRecord> getFileRecordIterator(
      StoragePathInfo path,
      long start,
      long length,
      HoodieSchema data,
      HoodieSchema required,
      HoodieStorage pathStorage)
      throws IOException {
    if (baseRows != null && baseRows.areOf(path.getPath())) {
      return getFileRecordIterator(path.getPath(), start, length, data, required, pathStorage);
    }
    storage = pathStorage;
    return super.getFileRecordIterator(path, start, length, data, required, pathStorage);
  }

  @Override
  public ClosableIterator<IndexedRecord> getFileRecordIterator(
      StoragePath path,
      long start,
      long length,
      HoodieSchema data,
      HoodieSchema required,
      HoodieStorage pathStorage)
      throws IOException {
    return baseRows != null && baseRows.areOf(path)
        ? baseRows.read(
            required.toAvroSchema(),
            pathStorage,
            (found, columns) ->
                records(path, start, length, data, HoodieSchema.fromAvroSchema(columns), found))
        : records(path, start, length, data, required, pathStorage);
  }

  private ClosableIterator<IndexedRecord> records(
      StoragePath path,
      long start,
      long length,
      HoodieSchema data,
      HoodieSchema required,
      HoodieStorage pathStorage)
      throws IOException {
    storage = pathStorage;
    return super.getFileRecordIterator(path, start, length, data, required, pathStorage);
  }

  /** Both of the above come here with the file's reader. */
  @Override
  public ClosableIterator<IndexedRecord> getFileRecordIterator(
      HoodieAvroFileReader reader,
      StoragePath path,
      boolean isLogFile,
      HoodieSchema data,
      HoodieSchema required)
      throws IOException {
    // Tables with renamed columns are read as a whole.
    boolean isInPart = baseRows != null && baseRows.areOf(path);
    Pair<HoodieSchema, Map<String, String>> ofFile =
        isLogFile || isInPart
            ? Pair.of(required, Collections.emptyMap())
            : getSchemaHandler().getRequiredSchemaForFileAndRenamedColumns(path);
    Schema requested = ofFile.getLeft().toAvroSchema();
    Schema stored = IntegerDecimals.asStored(requested, reader.getSchema().toAvroSchema());
    if (stored == requested && !isInPart) {
      return super.getFileRecordIterator(reader, path, isLogFile, data, required);
    }
    ClosableIterator<IndexedRecord> records =
        reader.getIndexedRecordIterator(
            data, HoodieSchema.fromAvroSchema(stored), ofFile.getRight());
    if (stored == requested) {
      return records;
    }
    MessageType parquet = new ParquetUtils().readMessageType(storage, path);
    UnaryOperator<Object> converter = IntegerDecimals.converter(requested, stored, parquet);
    return new CloseableMappingIterator<>(
        records, record -> (IndexedRecord) converter.apply(record));
  }
}
