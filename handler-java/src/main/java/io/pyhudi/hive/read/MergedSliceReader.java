package io.pyhudi.hive.read;

import io.pyhudi.hive.files.DataFile;
import io.pyhudi.hive.scan.MergedSlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.ClosableIterator;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;

/** Reads the rows of a slice after Hudi has merged its log files, as Hive's Parquet rows. */
final class MergedSliceReader extends RowReader {
  private final ClosableIterator<IndexedRecord> records;
  private final List<Integer> targets = new ArrayList<>();
  private final List<Integer> sources = new ArrayList<>();
  private final List<WritableConverter> converters = new ArrayList<>();

  MergedSliceReader(MergedSlice slice, JobConf job, Projection projection) throws IOException {
    super(projection.columns());
    TableAtInstant table = TableAtInstant.of(job, slice.basePath(), slice.instant());
    List<Schema.Field> fields = new ArrayList<>();
    for (int column : projection.projected()) {
      Schema.Field field = WritableConverters.field(table.schema(), projection.name(column));
      if (field != null) {
        targets.add(column);
        sources.add(fields.size());
        converters.add(
            WritableConverters.of(
                field.schema(), projection.type(column), projection.selection(column)));
        fields.add(new Schema.Field(field, field.schema()));
      }
    }
    if (fields.isEmpty()) {
      // Rows are only counted; Hudi reads at least one column.
      Schema.Field any = table.schema().getFields().get(0);
      fields.add(new Schema.Field(any, any.schema()));
    }
    records = open(slice, table, requested(table.schema(), fields));
  }

  private static Schema requested(Schema table, List<Schema.Field> fields) {
    return Schema.createRecord(
        table.getName(), table.getDoc(), table.getNamespace(), false, fields);
  }

  private static ClosableIterator<IndexedRecord> open(
      MergedSlice slice, TableAtInstant table, Schema requested) throws IOException {
    JobConf conf = new JobConf(table.metaClient().getStorageConf().unwrapAs(Configuration.class));
    Option<HoodieBaseFile> base = slice.slice().getBaseFile();
    return base.isPresent()
        ? DataFile.read(
            HadoopFSUtils.convertToHadoopPath(base.get().getStoragePath()),
            base.get().getFileSize(),
            conf,
            settings -> merge(slice, table, requested, settings))
        : merge(slice, table, requested, conf);
  }

  private static ClosableIterator<IndexedRecord> merge(
      MergedSlice slice, TableAtInstant table, Schema requested, JobConf conf) throws IOException {
    HoodieTableMetaClient metaClient = table.metaClient();
    TypedProperties properties = new TypedProperties();
    properties.putAll(metaClient.getTableConfig().getProps());
    return FileGroupReading.of(slice.slice())
        .with("ReaderContext", new MergeContext(metaClient, properties, conf))
        .with("HoodieTableMetaClient", metaClient)
        .with("LatestCommitTime", slice.instant())
        .with("DataSchema", HoodieSchema.fromAvroSchema(table.schema()))
        .with("RequestedSchema", HoodieSchema.fromAvroSchema(requested))
        .with("InternalSchema", table.internalSchema())
        .with("Props", properties)
        .<IndexedRecord>build()
        .getClosableIterator();
  }

  @Override
  boolean hasNext() {
    return records.hasNext();
  }

  @Override
  void fill(Writable[] values) {
    IndexedRecord record = records.next();
    for (int i = 0; i < targets.size(); i++) {
      values[targets.get(i)] = converters.get(i).nullable(record.get(sources.get(i)));
    }
  }

  @Override
  public void close() {
    records.close();
  }
}
