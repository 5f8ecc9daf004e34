package io.pyhudi.hive.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.files.CountedFileSystem;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.io.SeekableDataInputStream;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StorageConfiguration;
import org.apache.hudi.storage.StoragePath;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class QueryStorageTest {
  @TempDir java.nio.file.Path directory;

  private java.nio.file.Path local;
  private StoragePath table;
  private QueryStorage storage;

  @BeforeEach
  void createTable() throws Exception {
    local = directory.resolve("t");
    Path path = TestTables.create(local);
    table = new StoragePath(path.toString());
    storage = new QueryStorage(path, CountedFileSystem.configuration());
    CountedFileSystem.take();
  }

  /** Waits for a listing that may be under way, so that the next test does not count it. */
  @AfterEach
  void listTimeline() throws Exception {
    storage.listDirectEntries(new StoragePath(table, ".hoodie/timeline"));
  }

  private StoragePath write(String name, String content) throws IOException {
    Files.createDirectories(local.resolve(name).getParent());
    Files.write(local.resolve(name), content.getBytes(StandardCharsets.UTF_8));
    return new StoragePath(table, name);
  }

  private String read(StoragePath path) throws IOException {
    try (InputStream stream = storage.open(path)) {
      byte[] buffer = new byte[1 << 16];
      int count = stream.read(buffer);
      return new String(buffer, 0, Math.max(0, count), StandardCharsets.UTF_8);
    }
  }

  @Test
  void readsASmallFileOnce() throws Exception {
    StoragePath file = write(".hoodie/timeline/1_2.commit", "abc");
    assertEquals("abc", read(file));
    assertEquals("abc", read(file));
    assertEquals(Collections.singletonList("open 1_2.commit"), CountedFileSystem.take());
  }

  @Test
  void streamsOfASmallFileEndLikeFiles() throws Exception {
    StoragePath file = write(".hoodie/metadata/files/a.hfile", "abcdef");
    try (SeekableDataInputStream stream = storage.openSeekable(file, 16, true)) {
      stream.seek(4);
      byte[] rest = new byte[2];
      stream.readFully(rest);
      assertArrayEquals(new byte[] {'e', 'f'}, rest);
      assertEquals(6, stream.getPos());
      assertEquals(-1, stream.read());
      assertThrows(EOFException.class, () -> stream.seek(7));
      stream.seek(0);
      assertEquals('a', stream.read());
    }
  }

  @Test
  void listsADirectoryOnce() throws Exception {
    write(".hoodie/timeline/1_2.commit", "abc");
    StoragePath timeline = new StoragePath(table, ".hoodie/timeline");
    int all = storage.listDirectEntries(timeline).size();
    assertEquals(
        1, storage.listDirectEntries(timeline, path -> path.getName().endsWith(".commit")).size());
    assertEquals(all, storage.listDirectEntries(timeline).size());
    assertEquals(Collections.singletonList("list timeline"), CountedFileSystem.take());
  }

  @Test
  void aListingAnswersWhatExistsInItsDirectory() throws Exception {
    StoragePath commit = write(".hoodie/timeline/1_2.commit", "abc");
    storage.listDirectEntries(new StoragePath(table, ".hoodie/timeline"));
    CountedFileSystem.take();
    assertTrue(storage.exists(commit));
    assertEquals(3, storage.getPathInfo(commit).getLength());
    assertFalse(storage.exists(new StoragePath(table, ".hoodie/timeline/3_4.commit")));
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
  }

  @Test
  void nothingExistsInADirectoryThatAListingLacks() throws Exception {
    storage.listDirectEntries(new StoragePath(table, ".hoodie"));
    storage.listDirectEntries(new StoragePath(table, ".hoodie/timeline"));
    CountedFileSystem.take();
    assertFalse(storage.exists(new StoragePath(table, ".hoodie/.none/.partitions/a.hfile")));
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
    assertTrue(storage.exists(new StoragePath(table, ".hoodie/timeline/history")));
  }

  @Test
  void theListingForThePropertiesTellsWhetherThereIsASchemaHistory() throws Exception {
    read(new StoragePath(table, ".hoodie/hoodie.properties"));
    assertFalse(storage.exists(new StoragePath(table, ".hoodie/.schema")));
    storage.listDirectEntries(new StoragePath(table, ".hoodie/timeline"));
    List<String> requests = CountedFileSystem.take();
    // The last two are sent at once.
    Collections.sort(requests);
    assertEquals(
        Arrays.asList("list .hoodie", "list timeline", "open hoodie.properties"), requests);
  }

  @Test
  void damagedPropertiesAreReadAgain() throws Exception {
    StoragePath file = write(".hoodie/hoodie.properties", "hoodie.table.name=t");
    assertEquals("hoodie.table.name=t", read(file));
    write(".hoodie/hoodie.properties", "hoodie.table.name=other");
    assertEquals("hoodie.table.name=other", read(file));
  }

  @Test
  void replacedPropertiesAreReadToTheirEnd() throws Exception {
    storage.listDirectEntries(new StoragePath(table, ".hoodie"));
    String longer = String.join("\n", Collections.nCopies(500, "a=b"));
    assertEquals(longer, read(write(".hoodie/hoodie.properties", longer)));
  }

  @Test
  void indexDefinitionsAreNotRead() throws Exception {
    assertEquals("", read(write(".hoodie/.index_defs/index.json", "{\"no\": \"json\"")));
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
  }

  @Test
  void dataFilesAreNotKept() throws Exception {
    StoragePath file = write("day=1/.a_1.log.1_0-0-0", "abc");
    assertEquals("abc", read(file));
    assertEquals("abc", read(file));
    assertEquals(Collections.nCopies(2, "open .a_1.log.1_0-0-0"), CountedFileSystem.take());
  }

  @Test
  void largeFilesAreStreamed() throws Exception {
    StoragePath file = new StoragePath(table, ".hoodie/metadata/files/large.hfile");
    Files.createDirectories(local.resolve(".hoodie/metadata/files"));
    byte[] content = new byte[(8 << 20) + 5];
    content[content.length - 1] = 7;
    Files.write(local.resolve(".hoodie/metadata/files/large.hfile"), content);
    storage.listDirectEntries(file.getParent());
    try (SeekableDataInputStream stream = storage.openSeekable(file, 1024, true)) {
      stream.seek(content.length - 1);
      assertEquals(7, stream.read());
    }
  }

  @Test
  void missingFilesFailAsEver() {
    StoragePath file = new StoragePath(table, ".hoodie/timeline/none");
    assertThrows(FileNotFoundException.class, () -> storage.open(file));
    assertThrows(FileNotFoundException.class, () -> storage.getPathInfo(file));
  }

  @Test
  void anAccessByAnotherConfigurationSharesWhatWasRead() throws Exception {
    StoragePath file = write(".hoodie/timeline/1_2.commit", "abc");
    assertEquals("abc", read(file));
    CountedFileSystem.take();
    StorageConfiguration<?> own = storage.getConf().newInstance();
    own.set("parquet.avro.add-list-element-records", "false");
    HoodieStorage other = storage.newInstance(table, own);
    // Hudi's Parquet reader fails without what it has added.
    assertSame(own, other.getConf());
    try (InputStream stream = other.open(file)) {
      assertEquals('a', stream.read());
    }
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
  }
}
