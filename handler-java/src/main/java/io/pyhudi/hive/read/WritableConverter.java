package io.pyhudi.hive.read;

import org.apache.hadoop.io.Writable;

/** Converts one Avro value to the writable that ParquetHiveSerDe expects for a Hive type. */
@FunctionalInterface
interface WritableConverter {
  /**
   * @param value an Avro value, not null
   * @return null if the Hive type cannot hold the value, as when Hive reads Parquet
   */
  Writable convert(Object value);

  /** Converts a value that may be null. */
  default Writable nullable(Object value) {
    return value == null ? null : convert(value);
  }
}
