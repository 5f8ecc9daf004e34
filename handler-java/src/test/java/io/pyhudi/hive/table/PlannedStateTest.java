package io.pyhudi.hive.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.files.CountedFileSystem;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlannedStateTest {
  private static final String FIRST = "20260101000000000";
  private static final String SECOND = "20260102000000000";

  @TempDir java.nio.file.Path directory;

  private final Configuration planned = query(TestTables.newQuery());
  private Path table;

  @BeforeEach
  void createTable() throws Exception {
    table = TestTables.create(directory.resolve("t"));
    TestTables.commit(table, FIRST);
  }

  private static Configuration query(String id) {
    Configuration conf = CountedFileSystem.configuration();
    conf.set("hive.query.id", id);
    return conf;
  }

  /** As another process opens the table, to which Hive has sent the query's configuration. */
  private HudiTable openedLater(Configuration query, Path path) {
    HudiTable newest = HudiTable.open(query, path);
    return newest.asPlanned(PlannedState.of(query, path));
  }

  private java.nio.file.Path timeline() {
    return Paths.get(table.toUri().getPath(), ".hoodie", "timeline");
  }

  @Test
  void theQueryReadsTheStateOfItsPlanAfterOtherCommits() throws Exception {
    assertTrue(PlannedState.keep(planned, table));
    TestTables.commit(table, SECOND);
    assertEquals(FIRST, openedLater(planned, table).newestInstant());
    assertEquals(FIRST, openedLater(planned, table).asOf());
  }

  @Test
  void nothingIsTravelledBackToIfTheTableIsTheSame() {
    assertTrue(PlannedState.keep(planned, table));
    assertNull(openedLater(planned, table).asOf());
  }

  @Test
  void aStateThatTheQueryNamesIsRead() throws Exception {
    TestTables.commit(table, SECOND);
    assertTrue(PlannedState.keep(planned, table));
    planned.set(PruningSettings.AS_OF, FIRST);
    HudiTable read = HudiTable.ofQuery(planned, table, PruningSettings.ofJob(planned));
    assertEquals(FIRST, read.asOf());
  }

  @Test
  void otherQueriesAndTablesAreReadAsEver() throws Exception {
    assertTrue(PlannedState.keep(planned, table));
    TestTables.commit(table, SECOND);
    Configuration next = new Configuration(planned);
    next.set("hive.query.id", TestTables.newQuery());
    assertEquals(SECOND, openedLater(next, table).newestInstant());
    assertNull(PlannedState.of(planned, new Path(table.getParent(), "other")));
    assertNull(PlannedState.of(planned, new Path("s3a://another" + table.toUri().getPath())));
  }

  @Test
  void aFileSystemMayHaveNoNameElsewhere() {
    assertTrue(PlannedState.keep(planned, table));
    assertEquals(FIRST, PlannedState.of(planned, new Path(table.toUri().getPath())).instant());
  }

  /** It may complete, and would then be part of what is read as of the newest commit. */
  @Test
  void aStateBeforeWhichACommitIsPendingIsNotPromised() throws Exception {
    Files.write(timeline().resolve("20251231000000000.commit.requested"), new byte[0]);
    assertFalse(PlannedState.keep(planned, table));
    assertNull(PlannedState.of(planned, table));
  }

  /** A writer chooses the time of a commit before it writes the first file of it. */
  @Test
  void aStateToWhichAnOlderCommitIsAddedIsGone() throws Exception {
    assertTrue(PlannedState.keep(planned, table));
    TestTables.commit(table, "20251231000000000");
    StateException problem = assertThrows(StateException.class, () -> openedLater(planned, table));
    assertTrue(problem.getMessage().contains("Run the query again"), problem.getMessage());
  }

  @Test
  void aCommitThatStartedLaterIsNoPartOfTheState() throws Exception {
    Files.write(timeline().resolve(SECOND + ".commit.requested"), new byte[0]);
    assertTrue(PlannedState.keep(planned, table));
    Files.delete(timeline().resolve(SECOND + ".commit.requested"));
    TestTables.commit(table, SECOND);
    assertEquals(FIRST, openedLater(planned, table).newestInstant());
  }

  @Test
  void aPlanDependsOnOneStateOfATable() throws Exception {
    assertTrue(PlannedState.keep(planned, table));
    assertTrue(PlannedState.keep(planned, table));
    TestTables.commit(table, SECOND);
    // For another user the table is opened again, as it is a minute later.
    PrivilegedExceptionAction<Boolean> again = () -> PlannedState.keep(planned, table);
    assertFalse(UserGroupInformation.createRemoteUser("alice").doAs(again));
    assertEquals(FIRST, openedLater(planned, table).newestInstant());
  }

  @Test
  void aTableWithoutCommitsHasNoStateToKeep() throws Exception {
    Path empty = TestTables.create(directory.resolve("empty"));
    assertFalse(PlannedState.keep(planned, empty));
  }

  @Test
  void aStateThatIsGoneSaysWhatToDo() throws Exception {
    assertTrue(PlannedState.keep(planned, table));
    TestTables.commit(table, SECOND);
    try (java.util.stream.Stream<java.nio.file.Path> files = Files.list(timeline())) {
      for (java.nio.file.Path file : (Iterable<java.nio.file.Path>) files::iterator) {
        if (file.getFileName().toString().startsWith(FIRST)) {
          Files.delete(file);
        }
      }
    }
    StateException problem = assertThrows(StateException.class, () -> openedLater(planned, table));
    assertTrue(problem.getMessage().contains("Run the query again"), problem.getMessage());
    assertTrue(problem.getMessage().contains("hudi.pruning.joins.planned=false"));
  }
}
