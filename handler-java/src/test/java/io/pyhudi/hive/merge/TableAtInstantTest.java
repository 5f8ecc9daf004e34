package io.pyhudi.hive.merge;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.pyhudi.hive.table.TestTables;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hudi.common.model.HoodieTableType;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TableAtInstantTest {
  private static final String SCHEMA =
      "{\"type\": \"record\", \"name\": \"t\", \"fields\": [{\"name\": \"id\", \"type\": \"long\"}]}";

  private final Configuration conf = new Configuration();

  @TempDir java.nio.file.Path directory;

  private TableAtInstant openedBy(UserGroupInformation user, Path table) throws Exception {
    PrivilegedExceptionAction<TableAtInstant> opening =
        () -> TableAtInstant.of(conf, table, "state");
    return user.doAs(opening);
  }

  @Test
  void tasksOfOneUserShareATableAndThoseOfOneNameDoNot() throws Exception {
    Path table = new Path(directory.resolve("t").toUri());
    HoodieTableMetaClient.newTableBuilder()
        .setTableType(HoodieTableType.MERGE_ON_READ)
        .setTableName("t")
        .setTableCreateSchema(SCHEMA)
        .initTable(HadoopFSUtils.getStorageConf(conf), table.toString());
    conf.set("hive.query.id", TestTables.newQuery());
    UserGroupInformation ofFirstTask = UserGroupInformation.createRemoteUser("alice");
    UserGroupInformation ofSecondTask = UserGroupInformation.createRemoteUser("alice");
    TableAtInstant first = openedBy(ofFirstTask, table);
    TableAtInstant second = openedBy(ofSecondTask, table);
    assertNotSame(first, second);
    assertNotSame(first.metaClient(), second.metaClient());
    assertSame(first, openedBy(ofFirstTask, table));
  }
}
