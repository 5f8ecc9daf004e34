package io.pyhudi.hive.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.files.CountedFileSystem;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hudi.exception.TableNotFoundException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class QueryTablesTest {
  private static final List<String> OPENING =
      Arrays.asList("list .hoodie", "list timeline", "open hoodie.properties");

  @TempDir java.nio.file.Path directory;

  private Path table;

  @BeforeEach
  void createTable() throws Exception {
    table = TestTables.create(directory.resolve("t"));
    CountedFileSystem.take();
  }

  private static Configuration query(String id) {
    Configuration conf = CountedFileSystem.configuration();
    conf.set("hive.query.id", id);
    return conf;
  }

  /** The last two requests are sent at once. */
  private static List<String> sortedRequests() {
    List<String> requests = CountedFileSystem.take();
    Collections.sort(requests);
    return requests;
  }

  @Test
  void everythingInOneQuerySharesOneOpening() {
    String id = TestTables.newQuery();
    HudiTable first = HudiTable.ofQuery(query(id), table);
    assertEquals(OPENING, sortedRequests());
    assertSame(first, HudiTable.ofQuery(query(id), table));
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
  }

  @Test
  void queriesDoNotShare() throws Exception {
    HudiTable before = HudiTable.ofQuery(query(TestTables.newQuery()), table);
    TestTables.commit(table, "20260101000000000");
    HudiTable after = HudiTable.ofQuery(query(TestTables.newQuery()), table);
    assertNotSame(before, after);
    assertEquals("20260101000000000", after.newestInstant());
  }

  @Test
  void aQueryKeepsItsInstantWhenHudiLoadsTheTimelineAgain() throws Exception {
    HudiTable before = HudiTable.ofQuery(query(TestTables.newQuery()), table);
    String instants = before.stateKey();
    TestTables.commit(table, "20260101000000000");
    before.metaClient().reloadActiveTimeline();
    assertEquals(instants, before.stateKey());
  }

  @Test
  void withoutAQueryNothingIsShared() {
    Configuration conf = CountedFileSystem.configuration();
    assertNotSame(HudiTable.ofQuery(conf, table), HudiTable.ofQuery(conf, table));
    assertFalse(QueryTables.isOpen(conf, table));
  }

  @Test
  void tablesDoNotShare() throws Exception {
    String id = TestTables.newQuery();
    Path other = TestTables.create(directory.resolve("other"));
    assertEquals(table, HudiTable.ofQuery(query(id), table).basePath());
    assertEquals(other, HudiTable.ofQuery(query(id), other).basePath());
  }

  /** As tasks of a query in LLAP, or two sessions of HiveServer2. */
  @Test
  void usersOfOneNameDoNotShare() throws Exception {
    String id = TestTables.newQuery();
    HudiTable first = openedBy(UserGroupInformation.createRemoteUser("alice"), id);
    UserGroupInformation alice = UserGroupInformation.createRemoteUser("alice");
    HudiTable second = openedBy(alice, id);
    assertNotSame(first, second);
    assertSame(second, openedBy(alice, id));
  }

  private HudiTable openedBy(UserGroupInformation user, String query) throws Exception {
    PrivilegedExceptionAction<HudiTable> opening = () -> HudiTable.ofQuery(query(query), table);
    return user.doAs(opening);
  }

  @Test
  void anOpenTableIsKnownToBeOne() throws Exception {
    Configuration conf = query(TestTables.newQuery());
    assertFalse(QueryTables.isOpen(conf, table));
    HudiTable.ofQuery(conf, table);
    CountedFileSystem.take();
    assertTrue(HudiTable.isBasePath(conf, table));
    assertEquals(table, HudiTable.basePathOf(conf, table));
    assertEquals(Collections.emptyList(), CountedFileSystem.take());
  }

  @Test
  void aFailedOpeningIsTriedAgain() throws Exception {
    Configuration conf = query(TestTables.newQuery());
    Path late = new Path(table.getParent(), "late");
    assertThrows(TableNotFoundException.class, () -> HudiTable.ofQuery(conf, late));
    assertFalse(QueryTables.isOpen(conf, late));
    TestTables.create(directory.resolve("late"));
    assertEquals(late, HudiTable.ofQuery(conf, late).basePath());
  }

  @Test
  void threadsOfAQueryOpenTheTableOnce() throws Exception {
    String id = TestTables.newQuery();
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<HudiTable>> opened = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        opened.add(threads.submit(() -> HudiTable.ofQuery(query(id), table)));
      }
      for (Future<HudiTable> each : opened) {
        assertSame(opened.get(0).get(), each.get());
      }
    } finally {
      threads.shutdown();
    }
    assertEquals(OPENING, sortedRequests());
  }
}
