package io.pyhudi.hive.read;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pyhudi.hive.files.CountedFileSystem;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.scan.HudiSplit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every selection of rows reads as the whole file, by Hive's own readers, without other rows. */
class SelectedRowsTest {
  private static final int ROWS = 2500;
  private static final String[] FLAT = Arrays.copyOf(ParquetFiles.NAMES, 14);

  @TempDir java.nio.file.Path directory;

  private final Configuration conf = CountedFileSystem.configuration();

  static Stream<Arguments> layouts() {
    List<Arguments> layouts = new ArrayList<>();
    for (WriterVersion version : WriterVersion.values()) {
      for (boolean hasDictionaries : new boolean[] {true, false}) {
        for (CompressionCodecName codec :
            new CompressionCodecName[] {
              CompressionCodecName.UNCOMPRESSED, CompressionCodecName.GZIP
            }) {
          int pageRows = 20 + 30 * layouts.size() % 170;
          layouts.add(
              Arguments.of(new ParquetFiles.Layout(version, codec, hasDictionaries, pageRows)));
        }
      }
    }
    return layouts.stream();
  }

  private Path write(ParquetFiles.Layout layout) throws Exception {
    Path path = new Path("file://" + directory.resolve("rows.parquet"));
    return ParquetFiles.write(path, conf, layout, ROWS, layout.toString().hashCode());
  }

  private void check(Path path, Random random, JobConf job, List<String> all) throws Exception {
    long length = path.getFileSystem(conf).getFileStatus(path).getLen();
    long[][] ranges = ParquetFiles.ranges(random, all.size());
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < ranges[0].length; i++) {
      expected.addAll(all.subList((int) ranges[0][i], (int) ranges[1][i]));
    }
    FileRows rows = FileRows.of(ParquetFiles.answer(path, conf, ranges[0], ranges[1]));
    List<String> read = new ArrayList<>();
    long splitLength = length / (1 + random.nextInt(12)) + 1;
    for (HudiSplit split :
        HiveReading.splits(rows, HiveReading.byLength(path, length, splitLength))) {
      read.addAll(HiveReading.read(split, job));
    }
    assertEquals(expected, read, () -> "rows " + ParquetFiles.toRanges(ranges));
  }

  private List<String> all(Path path, JobConf job) throws Exception {
    long length = path.getFileSystem(conf).getFileStatus(path).getLen();
    return HiveReading.read(
        HudiSplit.plain(HiveReading.byLength(path, length, length).get(0), length), job);
  }

  private void checkAll(ParquetFiles.Layout layout, boolean isVectorized, String[]... projections)
      throws Exception {
    Path path = write(layout);
    Random random = new Random(layout.toString().hashCode());
    for (String[] columns : projections) {
      JobConf job = HiveReading.job(conf, isVectorized, columns);
      List<String> all = all(path, job);
      assertEquals(ROWS, all.size());
      for (int i = 0; i < 8; i++) {
        check(path, random, job, all);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("layouts")
  void rowByRow(ParquetFiles.Layout layout) throws Exception {
    checkAll(layout, false, ParquetFiles.NAMES, new String[] {"id", "deep"}, new String[] {"li"});
  }

  /** Hive serializes the types of a batch, for which it needs a session. */
  @Tag("session")
  @ParameterizedTest
  @MethodSource("layouts")
  void inBatches(ParquetFiles.Layout layout) throws Exception {
    checkAll(layout, true, FLAT, new String[] {"id", "st"}, new String[] {"id", "word"});
  }
}
