package io.pyhudi.hive.merge;

import org.apache.avro.Schema;

/** Unions of Avro, by which it says that a value may be NULL. */
public final class AvroUnions {
  private AvroUnions() {}

  public static Schema withoutNull(Schema schema) {
    if (schema.getType() != Schema.Type.UNION) {
      return schema;
    }
    for (Schema branch : schema.getTypes()) {
      if (branch.getType() != Schema.Type.NULL) {
        return branch;
      }
    }
    return schema;
  }
}
