package io.pyhudi.hive.schema;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.TableType;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.StorageDescriptor;
import org.apache.hadoop.hive.metastore.api.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class HudiMetaHookTest {
  private final HudiMetaHook hook = new HudiMetaHook(new Configuration(false));

  private static Table trips() {
    Table table = new Table();
    table.setDbName("sales");
    table.setTableName("trips");
    table.setTableType(TableType.EXTERNAL_TABLE.name());
    table.setParameters(Collections.emptyMap());
    table.setSd(new StorageDescriptor());
    return table;
  }

  private static void assertRefused(String reason, Executable statement) {
    String message = assertThrows(MetaException.class, statement).getMessage();
    assertTrue(message.startsWith("Hudi table sales.trips: "), message);
    assertTrue(message.contains(reason), message);
  }

  @Test
  void insertIsRefusedBeforeAnythingIsWritten() {
    assertRefused("read-only", () -> hook.preInsertTable(trips(), false));
    assertRefused("read-only", () -> hook.preInsertTable(trips(), true));
  }

  @Test
  void partitionsOfTheMetastoreAreRefused() {
    Table table = trips();
    table.setPartitionKeys(Collections.singletonList(new FieldSchema("day", "string", null)));
    assertRefused("needs Hive 4", () -> hook.preCreateTable(table));
  }

  @Test
  void aTableWithoutItsLocationIsRefused() {
    assertRefused("needs LOCATION", () -> hook.preCreateTable(trips()));
  }
}
