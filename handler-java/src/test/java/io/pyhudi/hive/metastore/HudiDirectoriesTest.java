package io.pyhudi.hive.metastore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HudiDirectoriesTest {
  @TempDir private java.nio.file.Path root;
  private java.nio.file.Path trips;
  private final Configuration conf = new Configuration(false);

  @BeforeEach
  void write() throws IOException {
    trips = root.resolve("lake.db/trips");
    Files.createDirectories(trips.resolve(".hoodie"));
    Files.createFile(trips.resolve(".hoodie/hoodie.properties"));
    Files.createDirectories(trips.resolve("day=1"));
    Files.createDirectories(root.resolve("other/files"));
  }

  private Path at(String path) {
    return new Path(root.resolve(path).toString());
  }

  private String found(String path) throws IOException {
    Path found = HudiDirectories.in(at(path), conf);
    return found == null ? null : found.toUri().getPath();
  }

  @Test
  void aTableIsFoundAtAboveAndBelowADirectory() throws IOException {
    for (String path : new String[] {"lake.db/trips", "lake.db", "", "lake.db/trips/day=1/new"}) {
      assertEquals(trips.toString(), found(path), path);
    }
  }

  @Test
  void directoriesBesideTablesAndMissingOnesAreFree() throws IOException {
    assertNull(found("other"));
    assertNull(found("other/missing"));
    assertNull(found("lake.db/trips2"));
  }

  @Test
  void aTablesDirectoriesAreNotDeleted() throws IOException {
    FileSystem fs = FileSystem.getLocal(conf);
    HudiFileGuard guard = new HudiFileGuard();
    for (String path : new String[] {"lake.db", "lake.db/trips", "lake.db/trips/day=1"}) {
      MetaException refusal =
          assertThrows(
              MetaException.class, () -> guard.deleteDir(fs, at(path), true, true, conf), path);
      assertTrue(refusal.getMessage().contains(trips.toString()), refusal.getMessage());
    }
    assertTrue(Files.exists(trips.resolve("day=1")));
  }
}
