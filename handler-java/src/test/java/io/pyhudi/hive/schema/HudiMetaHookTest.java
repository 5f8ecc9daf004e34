package io.pyhudi.hive.schema;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.TableType;
import org.apache.hadoop.hive.metastore.api.EnvironmentContext;
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
    table.setParameters(new HashMap<>(Collections.singletonMap("EXTERNAL", "TRUE")));
    table.setSd(new StorageDescriptor());
    return table;
  }

  private static void assertRefused(String reason, Executable statement) {
    String message = assertThrows(MetaException.class, statement).getMessage();
    assertTrue(message.startsWith("Hudi table sales.trips: "), message);
    assertTrue(message.contains(reason), message);
  }

  private static Table with(String property, String value) {
    Table table = trips();
    table.getParameters().put(property, value);
    return table;
  }

  @Test
  void noTableBecomesOneWhoseDataIsDeletedWhateverTheOperation() {
    EnvironmentContext unnamed = new EnvironmentContext();
    EnvironmentContext properties =
        new EnvironmentContext(Collections.singletonMap("alterTableOpType", "ADDPROPS"));
    for (EnvironmentContext context : Arrays.asList(null, unnamed, properties)) {
      assertRefused("EXTERNAL", () -> hook.preAlterTable(with("EXTERNAL", "FALSE"), context));
      assertRefused(
          "purge", () -> hook.preAlterTable(with("external.table.purge", "True"), context));
    }
  }

  @Test
  void aTableWhoseDataWouldBeDeletedIsNotDropped() throws MetaException {
    assertRefused("EXTERNAL", () -> hook.preDropTable(with("EXTERNAL", "no")));
    assertRefused("purge", () -> hook.preDropTable(with("external.table.purge", "TRUE")));
    hook.preDropTable(trips());
  }

  @Test
  void noTableIsTruncatedEvenIfItIsManagedAlready() {
    assertRefused(
        "read-only",
        () -> hook.preTruncateTable(with("EXTERNAL", "no"), null, Collections.emptyList()));
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
