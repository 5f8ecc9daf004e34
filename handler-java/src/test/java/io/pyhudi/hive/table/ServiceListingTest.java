package io.pyhudi.hive.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.files.CountedFileSystem;
import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.TableView;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.model.FileSlice;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServiceListingTest {
  private static final String FIRST = "20260101000000000";
  private static final String SECOND = "20260102000000000";
  private static final String BASE = "a-0_0-0-0_" + FIRST + ".parquet";
  private static final String LOG = ".b-0_" + FIRST + ".log.1_0-0-0";

  @TempDir java.nio.file.Path directory;

  private Path path;

  @BeforeEach
  void createTable() throws Exception {
    path = TestTables.create(directory.resolve("t"), "day");
    TestTables.commit(path, FIRST);
  }

  private HudiTable open() {
    Configuration conf = CountedFileSystem.configuration();
    conf.set("hive.query.id", TestTables.newQuery());
    return HudiTable.ofQuery(conf, path);
  }

  /** A slice of one base file, and one of a log file alone. */
  private static KeptSlices list(HudiTable table) {
    return new KeptSlices()
        .setTimelineDigest(table.timelineDigest())
        .setPartitions(Arrays.asList("day=1", "day=2"))
        .setPartitionSlices(Arrays.asList(1, 1))
        .setFileIds(Arrays.asList("a-0", "b-0"))
        .setBaseInstants(Arrays.asList(FIRST, FIRST))
        .setHaveBaseFile(Arrays.asList(true, false))
        .setLogFiles(Arrays.asList(0, 1))
        .setFileNames(Arrays.asList(BASE, LOG))
        .setFileSizes(Arrays.asList(3L, 2L));
  }

  private static List<FileSlice> fileSlices(List<Slice> slices) {
    return slices.stream().map(Slice::fileSlice).collect(Collectors.toList());
  }

  private void write(String name, int size) throws IOException {
    java.nio.file.Path file = directory.resolve("t").resolve(name);
    Files.createDirectories(file.getParent());
    Files.write(file, new byte[size]);
    Files.write(file.resolveSibling(".hoodie_partition_metadata"), new byte[0]);
  }

  @Test
  void theSlicesAreThoseThatHudiLists() throws Exception {
    write("day=1/" + BASE, 3);
    write("day=2/" + LOG, 2);
    HudiTable table = open();
    for (TableView view : TableView.values()) {
      List<Slice> hudis = new ArrayList<>();
      try (TableListing listing = table.list(Collections.singletonList(path))) {
        listing.slices(listing.partitions(), view).values().forEach(hudis::addAll);
      }
      List<Slice> found = ServiceListing.slices(table, list(table), view).get();
      assertEquals(fileSlices(hudis), fileSlices(found));
      assertEquals(view == TableView.SNAPSHOT ? 2 : 1, found.size());
    }
  }

  @Test
  void nothingIsReadForIt() throws Exception {
    HudiTable table = open();
    KeptSlices kept = list(table);
    CountedFileSystem.take();
    assertTrue(ServiceListing.slices(table, kept, TableView.SNAPSHOT).isPresent());
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
  }

  @Test
  void aListOfAnotherStateIsNotUsed() throws Exception {
    KeptSlices before = list(open());
    TestTables.commit(path, SECOND);
    HudiTable after = open();
    assertEquals(Optional.empty(), ServiceListing.slices(after, before, TableView.SNAPSHOT));
    assertTrue(ServiceListing.slices(after, list(after), TableView.SNAPSHOT).isPresent());
  }

  @Test
  void aPendingInstantIsAnotherState() throws Exception {
    KeptSlices before = list(open());
    java.nio.file.Path timeline = directory.resolve("t/.hoodie/timeline");
    Files.write(timeline.resolve(SECOND + ".commit.requested"), new byte[0]);
    assertFalse(ServiceListing.slices(open(), before, TableView.SNAPSHOT).isPresent());
  }

  /** The service's test `test_kept_slices` computes the same digest of these files' names. */
  @Test
  void theDigestIsTheServices() throws Exception {
    List<String> lines = new ArrayList<>();
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(
                getClass().getResourceAsStream("/timeline-of-all-actions.txt"),
                StandardCharsets.UTF_8))) {
      reader.lines().forEach(lines::add);
    }
    Path other = TestTables.create(directory.resolve("other"));
    for (String name : lines.subList(1, lines.size())) {
      Files.write(directory.resolve("other/.hoodie/timeline").resolve(name), new byte[0]);
    }
    byte[] digest = HudiTable.ofQuery(CountedFileSystem.configuration(), other).timelineDigest();
    assertEquals(lines.get(0), String.format("%064x", new BigInteger(1, digest)));
  }

  @Test
  void aListThatContradictsItselfIsNotUsed() {
    HudiTable table = open();
    List<Consumer<KeptSlices>> changes =
        Arrays.asList(
            kept -> kept.setTimelineDigest(new byte[0]),
            kept -> kept.setPartitions(Collections.singletonList("day=1")),
            kept -> kept.setPartitionSlices(Arrays.asList(1, 2)),
            kept -> kept.setPartitionSlices(Arrays.asList(1, 0)),
            kept -> kept.setFileIds(Collections.singletonList("a-0")),
            kept -> kept.setBaseInstants(Collections.emptyList()),
            kept -> kept.setHaveBaseFile(Arrays.asList(false, false)),
            kept -> kept.setHaveBaseFile(Arrays.asList(true, true)),
            kept -> kept.setLogFiles(Arrays.asList(0, 2)),
            kept -> kept.setLogFiles(Arrays.asList(0, 0)),
            kept -> kept.setLogFiles(Arrays.asList(0, -1)),
            kept -> kept.setFileNames(Collections.singletonList(BASE)),
            kept -> kept.setFileNames(Arrays.asList(BASE, "not a log file")),
            kept -> kept.setFileSizes(Collections.singletonList(3L)));
    for (Consumer<KeptSlices> change : changes) {
      KeptSlices kept = list(table);
      change.accept(kept);
      assertFalse(
          ServiceListing.slices(table, kept, TableView.SNAPSHOT).isPresent(), kept::toString);
    }
  }

  @Test
  void tablesWithoutAMetadataTableAreListedByHudi() {
    assertFalse(ServiceListing.isPossible(open()));
  }
}
