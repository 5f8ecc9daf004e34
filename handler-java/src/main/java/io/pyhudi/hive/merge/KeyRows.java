package io.pyhudi.hive.merge;

import io.pyhudi.hive.files.DataFile;
import io.pyhudi.hive.rows.RowRanges;
import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;

/** The rows of a base file that have one of some record keys, found by reading the key column. */
public final class KeyRows {
  private final MessageType schema;
  private final long fileRows;
  private final RowRanges rows;
  private final KeySet keys;
  private final int[] ofRows;

  private KeyRows(MessageType schema, long fileRows, KeySet keys, Collector found) {
    this.schema = schema;
    this.fileRows = fileRows;
    this.keys = keys;
    this.rows = found.rows.ranges();
    this.ofRows = found.keys;
  }

  private static final class Collector implements KeyPages.Found {
    private final RowRanges.Collector rows = new RowRanges.Collector();
    private int[] keys = new int[1024];
    private int count;

    @Override
    public void add(long row, int key) {
      rows.add(row, row + 1);
      if (count == keys.length) {
        keys = Arrays.copyOf(keys, 2 * count);
      }
      keys[count++] = key;
    }
  }

  /**
   * Reads the key column. Returns null if the file has none that is a plain text.
   *
   * @param length the file's length in bytes
   */
  static KeyRows find(Path path, long length, KeySet keys, JobConf job) throws IOException {
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
      reader.setRequestedSchema(wanted);
      ColumnDescriptor column = wanted.getColumns().get(0);
      Collector found = new Collector();
      long row = 0;
      for (PageReadStore group; (group = reader.readNextRowGroup()) != null; ) {
        long end = row + group.getRowCount();
        row = new KeyPages(column, keys, row, found).compare(group.getPageReader(column));
        if (row != end) {
          throw new IOException(path + ": its keys are those of " + row + " rows, not " + end);
        }
      }
      return new KeyRows(schema, row, keys, found);
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

  /**
   * Returns the key of one of the rows.
   *
   * @param number of the row among these, from 0
   */
  String key(int number) {
    return keys.key(ofRows[number]);
  }
}
