package io.pyhudi.hive.read;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.exec.vector.VectorAssignRow;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatchCtx;
import org.apache.hadoop.hive.ql.io.IOConstants;
import org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.serde2.SerDeException;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils.ObjectInspectorCopyOption;
import org.apache.hadoop.hive.serde2.objectinspector.StructField;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;

/**
 * Packs rows into batches, for vectorised queries over data that Hive's vectorised Parquet reader
 * cannot read: merged slices, nested types within nested types, and rows that represent others.
 */
final class BatchReader implements RecordReader<NullWritable, VectorizedRowBatch> {
  private final RecordReader<NullWritable, ArrayWritable> rows;
  private final Projection projection;
  private final VectorizedRowBatchCtx context;
  private final StructObjectInspector inspector;
  private final VectorAssignRow assign = new VectorAssignRow();
  private final Object[] partitionValues;
  private final List<Integer> filled;
  private final ArrayWritable row;

  BatchReader(
      RecordReader<NullWritable, ArrayWritable> rows,
      FileSplit split,
      JobConf job,
      Projection projection)
      throws IOException {
    this.rows = rows;
    this.projection = projection;
    context = Utilities.getVectorizedRowBatchCtx(job);
    partitionValues = new Object[context.getPartitionColumnCount()];
    if (partitionValues.length > 0) {
      VectorizedRowBatchCtx.getPartitionValues(context, job, split, partitionValues);
    }
    filled = new ArrayList<>(projection.projected());
    filled.removeIf(column -> column >= context.getDataColumnCount());
    row = rows.createValue();
    try {
      inspector = inspector(job);
      assign.init(typeNames(projection));
    } catch (SerDeException | HiveException e) {
      throw new IOException(e);
    }
  }

  private static StructObjectInspector inspector(JobConf job) throws SerDeException {
    Properties table = new Properties();
    table.setProperty(IOConstants.COLUMNS, job.get(IOConstants.COLUMNS));
    table.setProperty(IOConstants.COLUMNS_TYPES, job.get(IOConstants.COLUMNS_TYPES));
    ParquetHiveSerDe serde = new ParquetHiveSerDe();
    serde.initialize(job, table, null);
    return (StructObjectInspector) serde.getObjectInspector();
  }

  private static List<String> typeNames(Projection projection) {
    List<String> names = new ArrayList<>();
    for (TypeInfo type : projection.types()) {
      names.add(type.getTypeName());
    }
    return names;
  }

  @Override
  public boolean next(NullWritable key, VectorizedRowBatch batch) throws IOException {
    batch.reset();
    if (partitionValues.length > 0) {
      context.addPartitionColsToBatch(batch, partitionValues);
    }
    batch.size =
        rows instanceof GeneratedRowsReader
            ? repeat(batch, (GeneratedRowsReader) rows)
            : pack(batch);
    return batch.size > 0;
  }

  private int pack(VectorizedRowBatch batch) throws IOException {
    int size = 0;
    while (size < batch.getMaxSize() && rows.next(NullWritable.get(), row)) {
      assign(batch, size++);
    }
    return size;
  }

  /** Fills a whole batch with one row. */
  private int repeat(VectorizedRowBatch batch, GeneratedRowsReader generated) {
    if (!generated.next(NullWritable.get(), row)) {
      return 0;
    }
    assign(batch, 0);
    for (int column : filled) {
      if (batch.cols[column] != null) {
        batch.cols[column].isRepeating = true;
      }
    }
    return 1 + generated.skipEqualRows(batch.getMaxSize() - 1);
  }

  private void assign(VectorizedRowBatch batch, int index) {
    List<? extends StructField> fields = inspector.getAllStructFieldRefs();
    for (int column : filled) {
      if (batch.cols[column] == null) {
        continue;
      }
      StructField field = fields.get(column);
      Object value =
          standard(
              inspector.getStructFieldData(row, field),
              field.getFieldObjectInspector(),
              projection.selection(column));
      assign.assignRowColumn(batch, index, column, value);
    }
  }

  /** Copies a value to Hive's standard objects; fields that were not read are null. */
  private static Object standard(Object value, ObjectInspector type, FieldSelection selection) {
    if (value == null
        || selection.isEverything()
        || type.getCategory() != ObjectInspector.Category.STRUCT) {
      return ObjectInspectorUtils.copyToStandardObject(
          value, type, ObjectInspectorCopyOption.WRITABLE);
    }
    StructObjectInspector struct = (StructObjectInspector) type;
    List<Object> fields = new ArrayList<>();
    for (StructField field : struct.getAllStructFieldRefs()) {
      String name = field.getFieldName();
      fields.add(
          selection.has(name)
              ? standard(
                  struct.getStructFieldData(value, field),
                  field.getFieldObjectInspector(),
                  selection.of(name))
              : null);
    }
    return fields;
  }

  @Override
  public NullWritable createKey() {
    return NullWritable.get();
  }

  @Override
  public VectorizedRowBatch createValue() {
    return context.createVectorizedRowBatch();
  }

  @Override
  public long getPos() throws IOException {
    return rows.getPos();
  }

  @Override
  public float getProgress() throws IOException {
    return rows.getProgress();
  }

  @Override
  public void close() throws IOException {
    rows.close();
  }
}
