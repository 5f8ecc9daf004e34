package io.pyhudi.hive.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pyhudi.hive.files.CountedFileSystem;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.rows.RowRanges;
import io.pyhudi.hive.scan.HudiSplit;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hive's readers return each row that is not hidden once, of whole files and of selected rows. */
class HiddenRowsTest {
  private static final int ROWS = 5000;
  private static final String[] FLAT = Arrays.copyOf(ParquetFiles.NAMES, 14);

  @TempDir java.nio.file.Path directory;

  private final Configuration conf = CountedFileSystem.configuration();

  private Path write() throws Exception {
    ParquetFiles.Layout layout =
        new ParquetFiles.Layout(
            WriterVersion.PARQUET_1_0, CompressionCodecName.UNCOMPRESSED, true, 70);
    Path path = new Path("file://" + directory.resolve("hidden.parquet"));
    return ParquetFiles.write(path, conf, layout, ROWS, 7);
  }

  private void checkAll(boolean isVectorized, String... columns) throws Exception {
    Path path = write();
    long length = path.getFileSystem(conf).getFileStatus(path).getLen();
    JobConf job = HiveReading.job(conf, isVectorized, columns);
    HudiSplit whole = HudiSplit.plain(HiveReading.byLength(path, length, length).get(0), length);
    List<String> all = HiveReading.read(whole, job);
    assertEquals(ROWS, all.size());
    Random random = new Random(3);
    for (int i = 0; i < 12; i++) {
      RowRanges hidden = ParquetFiles.toRanges(ParquetFiles.ranges(random, ROWS));
      HiddenRows rows = HiddenRows.of(hidden, ROWS);
      assertEquals(
          visible(all, RowRanges.between(0, ROWS), hidden), HiveReading.read(whole, rows, job));
      long[][] selected = ParquetFiles.ranges(random, ROWS);
      FileRows answer = FileRows.of(ParquetFiles.answer(path, conf, selected[0], selected[1]));
      List<String> read = new ArrayList<>();
      for (HudiSplit split :
          HiveReading.splits(answer, HiveReading.byLength(path, length, length))) {
        read.addAll(HiveReading.read(split, rows, job));
      }
      assertEquals(visible(all, ParquetFiles.toRanges(selected), hidden), read);
    }
  }

  private static List<String> visible(List<String> all, RowRanges selected, RowRanges hidden) {
    List<String> visible = new ArrayList<>();
    for (int row = 0; row < all.size(); row++) {
      if (selected.covers(row, row + 1) && !hidden.covers(row, row + 1)) {
        visible.add(all.get(row));
      }
    }
    return visible;
  }

  @Test
  void rowByRow() throws Exception {
    checkAll(false, "id", "s", "deep");
  }

  /** Hive serializes the types of a batch, for which it needs a session. */
  @Tag("session")
  @Test
  void inBatches() throws Exception {
    checkAll(true, FLAT);
  }

  @Test
  void readersThatDropRowsFail() throws Exception {
    Path path = write();
    long length = path.getFileSystem(conf).getFileStatus(path).getLen();
    HudiSplit whole = HudiSplit.plain(HiveReading.byLength(path, length, length).get(0), length);
    HiddenRows ofLarger = HiddenRows.of(RowRanges.between(0, 1), ROWS + 1);
    JobConf job = HiveReading.job(conf, false, "id");
    assertThrows(IOException.class, () -> HiveReading.read(whole, ofLarger, job));
  }
}
