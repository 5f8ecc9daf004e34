package io.pyhudi.hive.table;

import io.pyhudi.hive.files.CountedFileSystem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.model.HoodieTableType;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;

/** Hudi tables without rows, in the counted file system. */
public final class TestTables {
  private TestTables() {}

  /** Creates a table of these partition fields, and returns its base path. */
  public static Path create(java.nio.file.Path directory, String... partitions) throws IOException {
    Path path = new Path(CountedFileSystem.SCHEME + "://bucket" + directory);
    HoodieTableMetaClient.newTableBuilder()
        .setTableType(HoodieTableType.COPY_ON_WRITE)
        .setTableName("t")
        .setPartitionFields(partitions.length == 0 ? null : String.join(",", partitions))
        .initTable(
            HadoopFSUtils.getStorageConf(CountedFileSystem.configuration()), path.toString());
    // As in an object store, which has no empty directories.
    Files.delete(directory.resolve(".hoodie/.schema"));
    return path;
  }

  /** Adds a completed commit that wrote nothing. */
  public static void commit(Path table, String instant) throws IOException {
    java.nio.file.Path timeline =
        java.nio.file.Paths.get(table.toUri().getPath(), ".hoodie", "timeline");
    Files.write(timeline.resolve(instant + ".commit.requested"), new byte[0]);
    Files.write(timeline.resolve(instant + ".inflight"), new byte[0]);
    Files.write(
        timeline.resolve(instant + "_" + instant + ".commit"),
        "{}".getBytes(StandardCharsets.UTF_8));
  }

  /** Returns an id that no other query has. */
  public static String newQuery() {
    return "query-" + UUID.randomUUID();
  }
}
