package io.pyhudi.spark.statements;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** What a statement does, by its first words, and the columns of its result. */
public enum StatementKind {
  CREATE_INDEX("CREATE INDEX", Table.AFTER_ON, Columns.BUILT),
  DROP_INDEX("DROP INDEX", Table.AFTER_ON, Columns.NONE),
  SHOW_INDEXES("SHOW INDEXES", Table.AFTER_FROM, Columns.INDEXES),
  REFRESH_INDEXES("REFRESH INDEXES", Table.AFTER_FROM, Columns.BUILT),
  REFRESH_INDEX("REFRESH INDEX", Table.AFTER_ON, Columns.BUILT),
  ANALYZE_INDEXES("ANALYZE INDEXES", Table.AFTER_FROM, Columns.ADVICE),
  OPTIMIZE("OPTIMIZE", Table.NEXT, Columns.LAID_OUT);

  private final List<String> words;
  private final List<String> beforeTable;
  private final StructType columns;

  StatementKind(String words, List<String> beforeTable, StructType columns) {
    this.words = Arrays.asList(words.split(" "));
    this.beforeTable = beforeTable;
    this.columns = columns;
  }

  /** Returns the kind of a statement; none: it is not one of ours. */
  static Optional<StatementKind> of(StatementText text) {
    return Arrays.stream(values()).filter(kind -> text.startsWith(kind.words)).findFirst();
  }

  /** Returns the parts of the table's name in a statement of this kind; empty: it has none. */
  List<String> table(StatementText text) {
    return text.nameAfter(beforeTable, words.size());
  }

  /** Returns the columns of the result. */
  StructType columns() {
    return columns;
  }

  private static final class Table {
    static final List<String> AFTER_ON = Collections.singletonList("ON");
    static final List<String> AFTER_FROM = Arrays.asList("FROM", "IN", "ON");
    static final List<String> NEXT = Collections.emptyList();
  }

  private static final class Columns {
    private static final DataType TEXT = DataTypes.StringType;
    private static final DataType COUNT = DataTypes.LongType;
    private static final DataType NUMBER = DataTypes.DoubleType;

    static final StructType NONE = new StructType();
    static final StructType BUILT =
        new StructType()
            .add("index_name", TEXT)
            .add("partition", TEXT)
            .add("entries", COUNT)
            .add("bytes", COUNT)
            .add("instant", TEXT)
            .add("notes", TEXT);

    /** The first three are those of Hudi's own statement. */
    static final StructType INDEXES =
        new StructType()
            .add("index_name", TEXT)
            .add("index_type", TEXT)
            .add("col_name", TEXT)
            .add("store", TEXT)
            .add("state", TEXT)
            .add("covers", TEXT)
            .add("note", TEXT);

    static final StructType ADVICE =
        new StructType()
            .add("statement", TEXT)
            .add("recommended", DataTypes.BooleanType)
            .add("files_saved", NUMBER)
            .add("bytes_saved", COUNT)
            .add("bytes_stored", COUNT)
            .add("build_seconds", NUMBER)
            .add("bytes_of_row", NUMBER)
            .add("bytes_of_file", NUMBER);

    static final StructType LAID_OUT =
        new StructType()
            .add("instant", TEXT)
            .add("partitions", TEXT)
            .add("files_before", COUNT)
            .add("files_after", COUNT)
            .add("bytes_before", COUNT)
            .add("bytes_after", COUNT)
            .add("notes", TEXT);
  }
}
