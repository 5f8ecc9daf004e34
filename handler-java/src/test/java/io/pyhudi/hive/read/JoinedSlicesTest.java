package io.pyhudi.hive.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.HudiMergeOnReadInputFormat;
import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.files.CountedFileSystem;
import io.pyhudi.hive.protocol.SelectedRows;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.scan.HudiSplit;
import io.pyhudi.hive.scan.MergedSlice;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.io.HiveInputFormat;
import org.apache.hadoop.hive.ql.io.IOConstants;
import org.apache.hadoop.hive.serde2.ColumnProjectionUtils;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Slices of which Hive reads the base rows that no log file names have the rows of Hudi's merge.
 */
class JoinedSlicesTest {
  private static final File GOLDEN = new File("../tests/data/golden");
  private static final String LOCAL = "file://";
  private static final String REMOTE = CountedFileSystem.SCHEME + "://bucket";
  private static final List<String> NAMES =
      Arrays.asList(
          "_hoodie_commit_time", "_hoodie_record_key", "id", "p", "q", "s", "d", "m", "b", "dt");
  private static final String TYPES =
      "string:string:bigint:string:int:string:double:decimal(20,4):boolean:date";

  @TempDir java.nio.file.Path directory;

  private void unzip(String archive) throws IOException {
    try (InputStream file = Files.newInputStream(new File(GOLDEN, archive + ".zip").toPath());
        ZipInputStream content = new ZipInputStream(file)) {
      for (ZipEntry entry; (entry = content.getNextEntry()) != null; ) {
        java.nio.file.Path target = directory.resolve(entry.getName());
        if (entry.isDirectory()) {
          Files.createDirectories(target);
        } else {
          Files.createDirectories(target.getParent());
          Files.copy(content, target);
        }
      }
    }
  }

  private JobConf job(String root, String table, boolean selectsRows, boolean isVectorized) {
    JobConf job = new JobConf(new HiveConf(CountedFileSystem.configuration(), HiveReading.class));
    job.set(IOConstants.COLUMNS, String.join(",", NAMES));
    job.set(IOConstants.COLUMNS_TYPES, TYPES);
    List<Integer> ids = new ArrayList<>();
    NAMES.forEach(name -> ids.add(ids.size()));
    ColumnProjectionUtils.setReadColumns(job, ids);
    job.setBoolean(PruningSettings.ROWS, selectsRows);
    job.set(PruningSettings.MERGED_ROWS_BYTES, "0");
    // One split for each slice.
    job.set("hive.input.format", HiveInputFormat.class.getName());
    job.setBoolean(Utilities.VECTOR_MODE, isVectorized);
    if (isVectorized) {
      HiveReading.setContext(job, NAMES, TYPES);
    }
    FileInputFormat.setInputPaths(job, new Path(root + directory.resolve(table)));
    return job;
  }

  /** Reads a table. Counts the readers that Hive and Hudi share. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private static List<String> read(JobConf job, int[] joined) throws IOException {
    HudiMergeOnReadInputFormat format = new HudiMergeOnReadInputFormat();
    List<String> rows = new ArrayList<>();
    for (InputSplit split : format.getSplits(job, 1)) {
      RecordReader<NullWritable, ArrayWritable> reader =
          format.getRecordReader(split, job, Reporter.NULL);
      joined[0] += reader instanceof JoinedReader ? 1 : 0;
      rows.addAll(
          Utilities.getIsVectorized(job)
              ? HiveReading.batches((RecordReader) reader, job)
              : rows(reader));
    }
    Collections.sort(rows);
    return rows;
  }

  private static List<String> rows(RecordReader<NullWritable, ArrayWritable> reader)
      throws IOException {
    List<String> rows = new ArrayList<>();
    ArrayWritable row = reader.createValue();
    while (reader.next(NullWritable.get(), row)) {
      rows.add(
          Arrays.stream(row.get())
              .limit(NAMES.size())
              .map((Writable value) -> String.valueOf(value))
              .collect(Collectors.joining(", ")));
    }
    reader.close();
    return rows;
  }

  @Tag("session")
  @ParameterizedTest
  @CsvSource({
    "mor_v6_metadata_pending_compaction, mor_v6_part, true",
    "mor_v6_metadata_pending_compaction, mor_v6_part, false",
    "mor_v8_metadata_pending_compaction, mor_v8_part, true",
    "mor_v8_metadata_pending_compaction, mor_v8_part, false"
  })
  void rowsAreThoseOfHudisMerge(String archive, String table, boolean isVectorized)
      throws Exception {
    unzip(archive);
    int[] joined = {0};
    List<String> merged = read(job(LOCAL, table, false, isVectorized), joined);
    assertEquals(0, joined[0]);
    assertFalse(merged.isEmpty());
    assertEquals(merged, read(job(LOCAL, table, true, isVectorized), joined));
    assertFalse(joined[0] == 0);
    int[] remotelyJoined = {0};
    assertEquals(merged, read(job(REMOTE, table, true, isVectorized), remotelyJoined));
    assertEquals(joined[0], remotelyJoined[0]);
    JobConf combining = job(LOCAL, table, true, isVectorized);
    combining.unset("hive.input.format");
    assertEquals(merged, read(combining, new int[1]));
  }

  /** Has base rows win over log records, whose file names begin with a dot. */
  private void orderByFileNames(String table) throws IOException {
    java.nio.file.Path properties = directory.resolve(table).resolve(".hoodie/hoodie.properties");
    String text = new String(Files.readAllBytes(properties), StandardCharsets.UTF_8);
    String other =
        text.replace(
            "hoodie.table.ordering.fields=id", "hoodie.table.ordering.fields=_hoodie_file_name");
    assertNotEquals(text, other);
    Files.write(properties, other.getBytes(StandardCharsets.UTF_8));
    Files.deleteIfExists(properties.resolveSibling(".hoodie.properties.crc"));
  }

  @Tag("session")
  @ParameterizedTest
  @CsvSource({
    "mor_v6_metadata_pending_compaction, mor_v6_part, true",
    "mor_v8_metadata_pending_compaction, mor_v8_part, false"
  })
  void rowsThatLogFilesNameButDoNotReplaceAreReadWhole(
      String archive, String table, boolean isVectorized) throws Exception {
    unzip(archive);
    int[] joined = {0};
    orderByFileNames(table);
    List<String> merged = read(job(LOCAL, table, false, isVectorized), joined);
    assertFalse(merged.toString().contains("zz16"), "an update has won");
    assertEquals(0, joined[0]);
    assertEquals(merged, read(job(LOCAL, table, true, isVectorized), joined));
    assertFalse(joined[0] == 0);
  }

  private static List<String> sorted(RecordReader<NullWritable, ArrayWritable> reader)
      throws IOException {
    List<String> rows = rows(reader);
    Collections.sort(rows);
    return rows;
  }

  @Tag("session")
  @ParameterizedTest
  @CsvSource({
    "mor_v6_metadata_pending_compaction, mor_v6_part",
    "mor_v8_metadata_pending_compaction, mor_v8_part"
  })
  void hudiAloneLeavesOutRowsThatCannotMatch(String archive, String table) throws Exception {
    unzip(archive);
    orderByFileNames(table);
    JobConf job = job(LOCAL, table, true, false);
    Projection projection = Projection.of(job);
    Random random = new Random(3);
    long all = 0;
    long read = 0;
    for (InputSplit split : new HudiMergeOnReadInputFormat().getSplits(job, 1)) {
      MergedSlice slice = ((HudiSplit) split).mergedSlice();
      if (slice == null || !slice.slice().getBaseFile().isPresent()) {
        continue;
      }
      Path base =
          HadoopFSUtils.convertToHadoopPath(slice.slice().getBaseFile().get().getStoragePath());
      List<String> merged = sorted(MergedSliceReader.all(slice, job, projection));
      long rows = ParquetFiles.groups(base, job).stream().mapToLong(g -> g.getRowCount()).sum();
      for (int i = 0; i < 3; i++) {
        long start = 1 + random.nextInt((int) rows - 2);
        long end = start + 1 + random.nextInt((int) (rows - start) - 1);
        Set<String> found = new HashSet<>();
        for (long[][] part :
            new long[][][] {
              {{start}, {end}}, {{0, end}, {start, rows}},
            }) {
          MergedSliceReader reader =
              MergedSliceReader.matching(
                  slice, FileRows.of(answer(base, job, part)).whole(), job, projection);
          assertFalse(reader.areAll());
          List<String> some = sorted(reader);
          assertEquals(some.size(), new HashSet<>(some).size());
          assertTrue(merged.containsAll(some));
          found.addAll(some);
          read += some.size();
        }
        assertEquals(new HashSet<>(merged), found);
        all += 2 * merged.size();
      }
      SelectedRows ofAnother = answer(base, job, new long[][] {{0}, {1}});
      byte[] digest = ofAnother.getFooterDigest();
      digest[7] ^= 1;
      MergedSliceReader reader =
          MergedSliceReader.matching(
              slice, FileRows.of(ofAnother.setFooterDigest(digest)).whole(), job, projection);
      assertTrue(reader.areAll());
      assertEquals(merged, sorted(reader));
    }
    assertTrue(read < all, read + " of " + all);
  }

  private static SelectedRows answer(Path file, JobConf job, long[][] ranges) throws Exception {
    return ParquetFiles.answer(file, job, ranges[0], ranges[1]);
  }
}
