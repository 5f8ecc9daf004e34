package io.pyhudi.hive.read;

import io.pyhudi.hive.merge.KeyRows;
import io.pyhudi.hive.merge.MergedRows;
import io.pyhudi.hive.merge.TableAtInstant;
import io.pyhudi.hive.rows.RowSelection;
import io.pyhudi.hive.scan.MergedSlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;

/** Reads the rows of a slice after Hudi has merged its log files, as Hive's Parquet rows. */
final class MergedSliceReader extends RowReader {
  private final MergedRows records;
  private final List<Integer> targets = new ArrayList<>();
  private final List<Integer> sources = new ArrayList<>();
  private final List<WritableConverter> converters = new ArrayList<>();

  private MergedSliceReader(MergedSlice slice, JobConf job, Projection projection, Opener opener)
      throws IOException {
    super(projection.columns());
    TableAtInstant table = TableAtInstant.of(job, slice.basePath(), slice.stateKey());
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
    records = opener.open(slice, table, requested(table.schema(), fields));
  }

  private interface Opener {
    MergedRows open(MergedSlice slice, TableAtInstant table, Schema requested) throws IOException;
  }

  /** Reads all rows of a slice. */
  static MergedSliceReader all(MergedSlice slice, JobConf job, Projection projection)
      throws IOException {
    return new MergedSliceReader(slice, job, projection, MergedRows::all);
  }

  /** Reads the rows of which log files name the key, and leaves the others to Hive's readers. */
  static MergedSliceReader named(MergedSlice slice, JobConf job, Projection projection)
      throws IOException {
    return new MergedSliceReader(
        slice,
        job,
        projection,
        (of, table, requested) ->
            MergedRows.named(
                of,
                table,
                requested,
                file -> StoredColumns.areAsDeclared(projection, table.schema(), file)));
  }

  /**
   * Reads the rows that can match, and others.
   *
   * @param matching the rows of the base file that can match if no log file changes them
   */
  static MergedSliceReader matching(
      MergedSlice slice, RowSelection matching, JobConf job, Projection projection)
      throws IOException {
    return new MergedSliceReader(
        slice,
        job,
        projection,
        (of, table, requested) -> MergedRows.matching(of, table, requested, matching));
  }

  private static Schema requested(Schema table, List<Schema.Field> fields) {
    return Schema.createRecord(
        table.getName(), table.getDoc(), table.getNamespace(), false, fields);
  }

  /**
   * Returns which rows of the base file are among these, merged; null if they are all of it, so
   * that no other reader may read it.
   */
  KeyRows ofBaseFile() {
    return records.ofBaseFile();
  }

  /** Returns whether all rows of the base file are read. */
  boolean areAll() {
    return records.areAll();
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
