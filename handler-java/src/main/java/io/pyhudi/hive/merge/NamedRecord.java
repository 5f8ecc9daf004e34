package io.pyhudi.hive.merge;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.IndexedRecord;

/**
 * A row of a base file that is about to be merged. A value is read when it is asked for.
 *
 * <p>Most merges need but the key, and the columns that say which record is newer. The others of a
 * row that a log file replaces are never read.
 */
final class NamedRecord implements GenericRecord {
  private final Fields fields;
  private final long number;
  private final Object[] values;
  private final boolean[] isKnown;

  /**
   * @param number of the row among the named ones
   */
  NamedRecord(Fields fields, long number) {
    this.fields = fields;
    this.number = number;
    this.values = new Object[fields.schema().getFields().size()];
    this.isKnown = new boolean[values.length];
  }

  /** Where the values of all rows are. */
  interface Fields {
    Schema schema();

    /** Reads one value. */
    Object read(long number, int field) throws IOException;
  }

  @Override
  public Schema getSchema() {
    return fields.schema();
  }

  @Override
  public Object get(int field) {
    if (!isKnown[field]) {
      try {
        put(field, fields.read(number, field));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return values[field];
  }

  @Override
  public void put(int field, Object value) {
    values[field] = value;
    isKnown[field] = true;
  }

  @Override
  public Object get(String name) {
    Schema.Field field = getSchema().getField(name);
    if (field == null) {
      throw new AvroRuntimeException("no field " + name + " in " + getSchema().getFullName());
    }
    return get(field.pos());
  }

  @Override
  public boolean hasField(String name) {
    return getSchema().getField(name) != null;
  }

  @Override
  public void put(String name, Object value) {
    Schema.Field field = getSchema().getField(name);
    if (field == null) {
      throw new AvroRuntimeException("no field " + name + " in " + getSchema().getFullName());
    }
    put(field.pos(), value);
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof IndexedRecord
            && getSchema().equals(((IndexedRecord) other).getSchema())
            && GenericData.get().compare(this, other, getSchema()) == 0;
  }

  @Override
  public int hashCode() {
    return GenericData.get().hashCode(this, getSchema());
  }

  @Override
  public String toString() {
    return GenericData.get().toString(this);
  }
}
