package io.pyhudi.hive.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.pyhudi.hive.files.CountedFileSystem;
import io.pyhudi.hive.protocol.TableView;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TableListingTest {
  private static final String FIRST = "20260101000000000";
  private static final String SECOND = "20260102000000000";

  @TempDir java.nio.file.Path directory;

  private Path path;

  @BeforeEach
  void createTable() throws Exception {
    path = TestTables.create(directory.resolve("t"), "day");
    TestTables.commit(path, FIRST);
    write("day=1/a-0_0-0-0_" + FIRST + ".parquet");
    write("day=1/.a-0_" + FIRST + ".log.1_0-0-0");
    write("day=2/b-0_0-0-0_" + FIRST + ".parquet");
    CountedFileSystem.take();
  }

  private void write(String name) throws IOException {
    java.nio.file.Path file = directory.resolve("t").resolve(name);
    Files.createDirectories(file.getParent());
    Files.write(file, new byte[] {1, 2, 3});
    Files.write(file.resolveSibling(".hoodie_partition_metadata"), new byte[0]);
  }

  private HudiTable open(String query) {
    Configuration conf = CountedFileSystem.configuration();
    conf.set("hive.query.id", query);
    return HudiTable.ofQuery(conf, path);
  }

  private static List<String> tokens(HudiTable table, TableView view, Path... locations)
      throws IOException {
    List<String> tokens = new ArrayList<>();
    try (TableListing listing = table.list(Arrays.asList(locations))) {
      listing
          .slices(listing.partitions(), view)
          .values()
          .forEach(slices -> slices.forEach(slice -> tokens.addAll(slice.tokens())));
    }
    Collections.sort(tokens);
    return tokens;
  }

  @Test
  void allListingsOfAQueryShareOne() throws Exception {
    String query = TestTables.newQuery();
    List<String> first = tokens(open(query), TableView.SNAPSHOT, path);
    assertEquals(3, first.size());
    CountedFileSystem.take();
    assertEquals(first, tokens(open(query), TableView.SNAPSHOT, path));
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
  }

  @Test
  void eachViewReadsItsOwnFilesOfTheSameListing() throws Exception {
    HudiTable table = open(TestTables.newQuery());
    assertEquals(3, tokens(table, TableView.SNAPSHOT, path).size());
    List<String> base = tokens(table, TableView.READ_OPTIMIZED, path);
    assertEquals(
        Arrays.asList("a-0_0-0-0_" + FIRST + ".parquet", "b-0_0-0-0_" + FIRST + ".parquet"), base);
  }

  @Test
  void aListingOfAQueryStaysAtItsInstant() throws Exception {
    HudiTable table = open(TestTables.newQuery());
    List<String> before = tokens(table, TableView.SNAPSHOT, path);
    write("day=2/b-0_0-0-0_" + SECOND + ".parquet");
    TestTables.commit(path, SECOND);
    assertEquals(before, tokens(table, TableView.SNAPSHOT, path));
    List<String> after = tokens(open(TestTables.newQuery()), TableView.SNAPSHOT, path);
    assertFalse(after.contains("b-0_0-0-0_" + FIRST + ".parquet"));
    assertEquals(3, after.size());
  }

  @Test
  void aPartitionIsListedAlone() throws Exception {
    HudiTable table = open(TestTables.newQuery());
    assertEquals(
        Collections.singletonList("b-0_0-0-0_" + FIRST + ".parquet"),
        tokens(table, TableView.SNAPSHOT, new Path(path, "day=2")));
    assertEquals(3, tokens(table, TableView.SNAPSHOT, path).size());
  }
}
