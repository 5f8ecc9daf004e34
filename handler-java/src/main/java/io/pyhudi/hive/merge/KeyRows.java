package io.pyhudi.hive.merge;

import io.pyhudi.hive.files.DataFile;
import io.pyhudi.hive.rows.RowRanges;
import java.io.IOException;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.Converter;
import org.apache.parquet.io.api.GroupConverter;
import org.apache.parquet.io.api.PrimitiveConverter;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;

/** The rows of a base file that have one of some record keys, found by reading the key column. */
public final class KeyRows {
  private final MessageType schema;
  private final long fileRows;
  private final RowRanges rows;

  private KeyRows(MessageType schema, long fileRows, RowRanges rows) {
    this.schema = schema;
    this.fileRows = fileRows;
    this.rows = rows;
  }

  /**
   * Reads the key column. Returns null if the file has none that is a plain text.
   *
   * @param length the file's length in bytes
   * @param keys as UTF-8
   */
  static KeyRows find(Path path, long length, Set<Binary> keys, JobConf job) throws IOException {
    try (ParquetFileReader reader =
        DataFile.read(
            path,
            length,
            job,
            settings -> ParquetFileReader.open(HadoopInputFile.fromPath(path, settings)))) {
      MessageType schema = reader.getFileMetaData().getSchema();
      Type key = keyType(schema);
      if (key == null) {
        return null;
      }
      MessageType wanted = new MessageType(schema.getName(), key);
      String writer = reader.getFileMetaData().getCreatedBy();
      reader.setRequestedSchema(wanted);
      RowRanges.Collector found = new RowRanges.Collector();
      long first = 0;
      for (PageReadStore group; (group = reader.readNextRowGroup()) != null; ) {
        ColumnReadStoreImpl columns = new ColumnReadStoreImpl(group, new Unused(), wanted, writer);
        collect(columns, wanted.getColumns().get(0), keys, first, group.getRowCount(), found);
        first += group.getRowCount();
      }
      return new KeyRows(schema, first, found.ranges());
    }
  }

  private static Type keyType(MessageType schema) {
    String name = HoodieRecord.RECORD_KEY_METADATA_FIELD;
    Type type = schema.containsField(name) ? schema.getType(name) : null;
    boolean isText =
        type != null
            && type.isPrimitive()
            && !type.isRepetition(Type.Repetition.REPEATED)
            && type.asPrimitiveType().getPrimitiveTypeName() == PrimitiveTypeName.BINARY;
    return isText ? type : null;
  }

  private static void collect(
      ColumnReadStoreImpl columns,
      ColumnDescriptor key,
      Set<Binary> keys,
      long first,
      long count,
      RowRanges.Collector found) {
    ColumnReader reader = columns.getColumnReader(key);
    for (long row = first; row < first + count; row++) {
      boolean isSet = reader.getCurrentDefinitionLevel() == key.getMaxDefinitionLevel();
      if (isSet && keys.contains(reader.getBinary())) {
        found.add(row, row + 1);
      }
      reader.consume();
    }
  }

  /** Returns the schema of the file. */
  MessageType schema() {
    return schema;
  }

  /** Returns the number of all rows in the file. */
  public long fileRows() {
    return fileRows;
  }

  /** Returns the rows that have one of the keys. */
  public RowRanges rows() {
    return rows;
  }

  /** Parquet asks for converters, although the values are taken without them. */
  private static final class Unused extends GroupConverter {
    @Override
    public Converter getConverter(int field) {
      return new PrimitiveConverter() {};
    }

    @Override
    public void start() {}

    @Override
    public void end() {}
  }
}
