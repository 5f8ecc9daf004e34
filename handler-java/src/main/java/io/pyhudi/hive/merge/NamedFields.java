package io.pyhudi.hive.merge;

import io.pyhudi.hive.rows.SelectedContent;
import io.pyhudi.hive.rows.SelectedParquet;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.util.Utf8;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.util.collection.ClosableIterator;

/**
 * Where the values of the named rows are. Their keys are known. The columns that order records are
 * read without the others, as a merge needs those of a row only if the row is left.
 */
final class NamedFields implements NamedRecord.Fields, Closeable {
  private final Schema schema;
  private final KeyRows named;
  private final NamedColumns ordering;
  private final NamedColumns others;

  private NamedFields(Schema schema, KeyRows named, NamedColumns ordering, NamedColumns others) {
    this.schema = schema;
    this.named = named;
    this.ordering = ordering;
    this.others = others;
  }

  /** Opens Hudi's reader of some columns. */
  interface Opener {
    ClosableIterator<IndexedRecord> open(SelectedContent content, Schema columns)
        throws IOException;
  }

  /**
   * @param schema of the rows
   * @param ordering names of columns, which need not be in the schema
   * @param named the rows, not none
   * @param file of at least the named rows
   */
  static NamedFields of(
      Schema schema,
      Collection<String> ordering,
      KeyRows named,
      SelectedParquet file,
      Opener opener)
      throws IOException {
    List<Schema.Field> first = new ArrayList<>();
    List<Schema.Field> second = new ArrayList<>();
    for (Schema.Field field : schema.getFields()) {
      if (!isKey(field)) {
        List<Schema.Field> group = ordering.contains(field.name()) ? first : second;
        group.add(new Schema.Field(field, field.schema()));
      }
    }
    return new NamedFields(
        schema,
        named,
        columns(schema, first, named, file, opener),
        columns(schema, second, named, file, opener));
  }

  private static boolean isKey(Schema.Field field) {
    return field.name().equals(HoodieRecord.RECORD_KEY_METADATA_FIELD);
  }

  private static NamedColumns columns(
      Schema all, List<Schema.Field> fields, KeyRows named, SelectedParquet file, Opener opener)
      throws IOException {
    Schema schema =
        Schema.createRecord(all.getName(), all.getDoc(), all.getNamespace(), false, fields);
    SelectedParquet part = file.only((ofFile, names) -> schema.getField(names[0]) != null);
    SelectedRecords records =
        new SelectedRecords(part == null ? file : part, content -> opener.open(content, schema));
    return new NamedColumns(records, named.rows(), schema);
  }

  @Override
  public Schema schema() {
    return schema;
  }

  @Override
  public Object read(long number, int position) throws IOException {
    Schema.Field field = schema.getFields().get(position);
    if (isKey(field)) {
      return new Utf8(named.key(Math.toIntExact(number)));
    }
    NamedColumns columns = ordering.schema().getField(field.name()) != null ? ordering : others;
    return columns.row(number).get(columns.schema().getField(field.name()).pos());
  }

  @Override
  public void close() {
    ordering.close();
    others.close();
  }
}
