package io.pyhudi.hive.rows;

import org.apache.parquet.schema.MessageType;

/** Which columns of a file a reader reads. */
public interface ColumnChoice {
  /**
   * @param schema of the file
   * @param path the names from the root of the schema to a primitive column
   */
  boolean reads(MessageType schema, String[] path);
}
