package io.pyhudi.hive.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.SelectedRows;
import io.pyhudi.hive.table.Slice;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathInfo;
import org.junit.jupiter.api.Test;

/** An answer selects rows of the very file that it names, and only if it is consistent. */
class SelectedFilesTest {
  private static final String NAME = "aaaa-0_0-1-1_001.parquet";

  private static StoragePathInfo info(String path, long length) {
    return new StoragePathInfo(new StoragePath(path), length, false, (short) 1, 0, 0);
  }

  private static FileSlice slice(String partition, long length) {
    FileSlice slice = new FileSlice(partition, "001", "aaaa-0");
    slice.setBaseFile(new HoodieBaseFile(info("file:/table/" + partition + "/" + NAME, length)));
    return slice;
  }

  private static SelectedRows answer() {
    return new SelectedRows(
        "p=1",
        NAME,
        1000,
        ByteBuffer.wrap(new byte[32]),
        Arrays.asList(0L, 150L),
        Arrays.asList(10L, 160L),
        Arrays.asList(100L, 100L, 100L),
        Arrays.asList(4L, 300L, 600L),
        Arrays.asList(296L, 300L, 350L));
  }

  private static SelectedFiles files(SelectedRows... answers) {
    return SelectedFiles.of(Arrays.asList(answers));
  }

  @Test
  void rowsAreThoseOfTheFile() {
    SelectedFiles selected = files(answer());
    Slice slice = Slice.snapshot(slice("p=1", 1000));
    assertEquals(20, selected.rows(slice).selected());
    assertEquals(300, selected.rows(slice).rows());
    assertEquals(350, selected.rows(slice).skippedBytes());
    assertEquals(
        ", 20 of 300 rows of 1 of them",
        RowReport.of(selected, Collections.singletonList(slice)).text());
  }

  @Test
  void otherFilesAreReadWhole() {
    SelectedFiles selected = files(answer());
    assertNull(selected.rows(Slice.snapshot(slice("p=2", 1000))), "another partition");
    assertNull(selected.rows(Slice.snapshot(slice("p=1", 1001))), "another size");
    FileSlice changed = slice("p=1", 1000);
    changed.addLogFile(new HoodieLogFile(info("file:/table/p=1/.aaaa-0_002.log.1_0-2-2", 7)));
    assertNull(selected.rows(Slice.snapshot(changed)), "rows that log files change");
    assertNotNull(selected.rows(Slice.readOptimized(changed)));
    assertNull(SelectedFiles.of(null).rows(Slice.snapshot(slice("p=1", 1000))));
  }

  @Test
  void largeBaseFilesWithLogFilesAreShared() {
    FileSlice merged = slice("p=1", 1000);
    merged.addLogFile(new HoodieLogFile(info("file:/table/p=1/.aaaa-0_002.log.1_0-2-2", 7)));
    Slice slice = Slice.snapshot(merged);
    SelectedFiles shared = files(answer()).joiningSlices(1000);
    assertTrue(shared.joins(slice));
    assertEquals(20, shared.rows(slice).selected());
    SelectedFiles whole = files(answer()).joiningSlices(1001);
    assertFalse(whole.joins(slice), "too small");
    assertNull(whole.rows(slice));
    assertNotNull(whole.rows(Slice.snapshot(slice("p=1", 1000))), "no log files");
    assertFalse(files(answer()).joins(slice), "a scan that joins none");
    assertFalse(files().joiningSlices(0).joins(Slice.snapshot(slice("p=1", 0))), "unknown size");
  }

  @Test
  void answersThatContradictThemselvesAreIgnored() {
    Slice slice = Slice.snapshot(slice("p=1", 1000));
    List<SelectedRows> wrong =
        Arrays.asList(
            answer().setRangeEnds(Arrays.asList(10L)),
            answer().setRangeEnds(Arrays.asList(10L, 301L)),
            answer().setRangeEnds(Arrays.asList(150L, 160L)),
            answer().setRangeStarts(Arrays.asList(-1L, 150L)),
            answer().setRangeStarts(Arrays.asList(10L, 150L)),
            answer().setRowGroupRows(Arrays.asList(100L, 100L)),
            answer().setRowGroupRows(Arrays.asList(400L, -100L, 100L)),
            answer().setRowGroupOffsets(Arrays.asList(4L, 600L, 300L)),
            answer().setRowGroupOffsets(Arrays.asList(4L, 300L, 1000L)),
            answer().setRowGroupBytes(Arrays.asList(1L, 1L)));
    for (SelectedRows answer : wrong) {
      assertNull(files(answer).rows(slice), answer::toString);
    }
    assertNull(files(answer(), answer()).rows(slice), "two answers");
  }
}
