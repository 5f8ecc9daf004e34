package io.pyhudi.hive.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.protocol.SelectedRows;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.table.Slice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathInfo;
import org.junit.jupiter.api.Test;

class HudiSplitTest {
  private static final Path TABLE = new Path("file:/table");

  private static HudiSplit copy(HudiSplit split) throws IOException {
    DataOutputBuffer out = new DataOutputBuffer();
    split.write(out);
    DataInputBuffer in = new DataInputBuffer();
    in.reset(out.getData(), out.getLength());
    HudiSplit copy = new HudiSplit();
    copy.readFields(in);
    return copy;
  }

  private static StoragePathInfo info(String path, long length) {
    return new StoragePathInfo(new StoragePath(path), length, false, (short) 1, 0, 0);
  }

  @Test
  void aPartOfAPlainFileTravels() throws Exception {
    FileSplit part = new FileSplit(new Path(TABLE, "f.parquet"), 10, 20, new String[] {"host"});
    HudiSplit copy = copy(HudiSplit.plain(part, 4096));
    assertEquals(part.getPath(), copy.getPath());
    assertEquals(10, copy.getStart());
    assertEquals(20, copy.getLength());
    assertNull(copy.mergedSlice());
    assertNull(copy.hiddenKeysTable());
    assertEquals(
        "file:/table", copy(HudiSplit.plain(part, 4096).withHiddenKeysOf(TABLE)).hiddenKeysTable());
  }

  @Test
  void aSliceTravelsWithAllOfItsFiles() throws Exception {
    FileSlice slice = new FileSlice("é=1", "001", "aaaa-0");
    slice.setBaseFile(new HoodieBaseFile(info("file:/table/é=1/aaaa-0_0-1-1_001.parquet", 100)));
    slice.addLogFile(new HoodieLogFile(info("file:/table/é=1/.aaaa-0_002.log.1_0-2-2", 7)));
    slice.addLogFile(new HoodieLogFile(info("file:/table/é=1/.aaaa-0_003.log.1_0-3-3", 8)));
    MergedSlice merged =
        copy(HudiSplit.merged(TABLE, Slice.snapshot(slice), "003", "state")).mergedSlice();
    assertEquals(TABLE, merged.basePath());
    assertEquals("003", merged.instant());
    assertEquals("é=1", merged.slice().getPartitionPath());
    assertEquals(100, merged.slice().getBaseFile().get().getFileSize());
    assertEquals(
        slice.getLogFiles().map(HoodieLogFile::getPath).collect(Collectors.toList()),
        merged.slice().getLogFiles().map(HoodieLogFile::getPath).collect(Collectors.toList()));
  }

  @Test
  void sliceOfLogFilesAloneIsSerialized() throws Exception {
    FileSlice slice = new FileSlice("", "001", "aaaa-0");
    slice.addLogFile(new HoodieLogFile(info("file:/table/.aaaa-0_001.log.1_0-2-2", 7)));
    HudiSplit copy = copy(HudiSplit.merged(TABLE, Slice.snapshot(slice), "001", "state"));
    assertEquals(new Path(TABLE, ".aaaa-0_001.log.1_0-2-2"), copy.getPath());
    assertEquals(false, copy.mergedSlice().slice().getBaseFile().isPresent());
  }

  @Test
  void aPlainFileMayBeTakenAsSuchOrAsASlice() throws Exception {
    FileSlice slice = new FileSlice("", "001", "aaaa-0");
    slice.setBaseFile(new HoodieBaseFile(info("file:/table/aaaa-0_0-1-1_001.parquet", 100)));
    HudiSplit split = HudiSplit.merged(TABLE, Slice.snapshot(slice), "001", "state");
    assertFalse(copy(split).isPlainFile());
    HudiSplit copy = copy(split.asPlainFile());
    assertTrue(copy.isPlainFile());
    assertEquals("001", copy.mergedSlice().instant());
    assertEquals(100, copy.file().getLength());
  }

  @Test
  void aSplitThatHiveFindsByTheTableStillNamesItsFile() throws Exception {
    FileSplit part = new FileSplit(new Path(TABLE, "f.parquet"), 10, 20, new String[0]);
    HudiSplit copy = copy(HudiSplit.plain(part, 4096).withTablePath(TABLE));
    assertEquals(TABLE, copy.getPath());
    assertEquals(part.getPath(), copy.file().getPath());
    assertEquals(10, copy.file().getStart());
    assertEquals(20, copy.file().getLength());
  }

  @Test
  void selectedRowsTravelWithTheirPlaceInTheFile() throws Exception {
    FileRows rows =
        FileRows.of(
            new SelectedRows(
                "",
                "f.parquet",
                4096,
                ByteBuffer.wrap(new byte[] {1, 2, 3}),
                Arrays.asList(5L, 150L),
                Arrays.asList(10L, 160L),
                Arrays.asList(100L, 100L),
                Arrays.asList(4L, 2000L),
                Arrays.asList(1900L, 1800L)));
    FileSplit first = new FileSplit(new Path(TABLE, "f.parquet"), 0, 1999, new String[] {"a"});
    FileSplit second = new FileSplit(first.getPath(), 1999, 2097, new String[] {"b"});
    List<FileRows.Part> parts = rows.parts(Arrays.asList(first, second));
    assertEquals(2, parts.size());
    HudiSplit copy = copy(HudiSplit.selected(parts.get(1), 4096));
    assertEquals(2000, copy.file().getStart());
    assertEquals(2096, copy.file().getLength());
    assertEquals(180, copy.getLength());
    assertEquals("[150, 160)", copy.rows().ranges().toString());
    assertEquals(2000, parts.get(0).rows().bytes());
  }

  @Test
  void theFirstSplitBringsTheNumbersToTheCounters() throws Exception {
    FileSplit part = new FileSplit(new Path(TABLE, "f.parquet"), 0, 1, new String[0]);
    Map<String, Long> droppedBy = new TreeMap<>();
    droppedBy.put("column_stats", 7L);
    droppedBy.put("partition values", 2L);
    ScanReport report =
        new ScanReport(
            Outcome.PRUNED,
            Listing.BY_SERVICE,
            AnswerSource.BY_CACHE,
            10,
            1,
            1000,
            100,
            droppedBy,
            new RowReport(1, 5000, 1000, 60),
            350);
    Counters counters = new Counters();
    copy(HudiSplit.plain(part, 4096).withReport(report)).count(new CountingReporter(counters));
    copy(HudiSplit.plain(part, 4096)).count(new CountingReporter(counters));
    Map<String, Long> counted = new TreeMap<>();
    counters
        .getGroup("Hudi pruning")
        .forEach(counter -> counted.put(counter.getName(), counter.getValue()));
    Map<String, Long> expected = new TreeMap<>();
    expected.put("FILES_CONSIDERED", 10L);
    expected.put("FILES_KEPT", 1L);
    expected.put("FILES_DROPPED", 9L);
    expected.put("FILES_DROPPED_BY_COLUMN_STATS", 7L);
    expected.put("FILES_DROPPED_BY_PARTITION_VALUES", 2L);
    expected.put("BYTES_DROPPED", 900L);
    expected.put("FILES_IN_PART", 1L);
    expected.put("ROWS_OF_FILES_IN_PART", 5000L);
    expected.put("ROWS_SELECTED", 1000L);
    expected.put("ROW_GROUP_BYTES_SKIPPED", 60L);
    expected.put("PRUNING_MICROS", 350L);
    expected.put("SCANS_PRUNED", 1L);
    expected.put("LISTINGS_BY_SERVICE", 1L);
    expected.put("ANSWERS_BY_CACHE", 1L);
    assertEquals(expected, counted);
  }

  private static final class CountingReporter implements Reporter {
    private final Counters counters;

    CountingReporter(Counters counters) {
      this.counters = counters;
    }

    @Override
    public void incrCounter(String group, String name, long amount) {
      counters.incrCounter(group, name, amount);
    }

    @Override
    public void incrCounter(Enum<?> key, long amount) {
      counters.incrCounter(key, amount);
    }

    @Override
    public Counters.Counter getCounter(Enum<?> key) {
      return counters.findCounter(key);
    }

    @Override
    public Counters.Counter getCounter(String group, String name) {
      return counters.findCounter(group, name);
    }

    @Override
    public void setStatus(String status) {
      // Not looked at.
    }

    @Override
    public org.apache.hadoop.mapred.InputSplit getInputSplit() {
      throw new UnsupportedOperationException();
    }

    @Override
    public float getProgress() {
      return 0;
    }

    @Override
    public void progress() {
      // Not looked at.
    }
  }
}
