package io.pyhudi.hive.scan;

import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.table.Slice;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.apache.hadoop.mapred.Reporter;

/** The kept files of one scan of which only some rows are read. */
public final class RowReport {
  private static final RowReport NONE = new RowReport(0, 0, 0, 0);

  private final long files;
  private final long rowsOfFiles;
  private final long rowsSelected;
  private final long bytesSkipped;

  /**
   * @param files those that are not read whole
   * @param rowsOfFiles the rows in these files
   * @param rowsSelected those of them that are read
   * @param bytesSkipped the size of row groups in these files of which no row is read
   */
  RowReport(long files, long rowsOfFiles, long rowsSelected, long bytesSkipped) {
    this.files = files;
    this.rowsOfFiles = rowsOfFiles;
    this.rowsSelected = rowsSelected;
    this.bytesSkipped = bytesSkipped;
  }

  static RowReport none() {
    return NONE;
  }

  static RowReport of(SelectedFiles selected, List<Slice> slices) {
    List<FileRows> rows =
        slices.stream().map(selected::rows).filter(Objects::nonNull).collect(Collectors.toList());
    return new RowReport(
        rows.size(),
        rows.stream().mapToLong(FileRows::rows).sum(),
        rows.stream().mapToLong(FileRows::selected).sum(),
        rows.stream().mapToLong(FileRows::skippedBytes).sum());
  }

  /** Adds the name and value of each part, in display order. */
  void addTo(Map<String, Object> parts) {
    parts.put("filesInPart", files);
    parts.put("rowsOfFilesInPart", rowsOfFiles);
    parts.put("rowsSelected", rowsSelected);
    parts.put("rowGroupBytesSkipped", bytesSkipped);
  }

  boolean isEmpty() {
    return files == 0;
  }

  /** Formats the report for users: ", 20000 of 1000000 rows of 2 of them". Empty for none. */
  String text() {
    return isEmpty()
        ? ""
        : ", " + rowsSelected + " of " + rowsOfFiles + " rows of " + files + " of them";
  }

  void count(Reporter reporter, String group) {
    reporter.incrCounter(group, "FILES_IN_PART", files);
    reporter.incrCounter(group, "ROWS_OF_FILES_IN_PART", rowsOfFiles);
    reporter.incrCounter(group, "ROWS_SELECTED", rowsSelected);
    reporter.incrCounter(group, "ROW_GROUP_BYTES_SKIPPED", bytesSkipped);
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(files);
    out.writeLong(rowsOfFiles);
    out.writeLong(rowsSelected);
    out.writeLong(bytesSkipped);
  }

  static RowReport read(DataInput in) throws IOException {
    return new RowReport(in.readLong(), in.readLong(), in.readLong(), in.readLong());
  }
}
