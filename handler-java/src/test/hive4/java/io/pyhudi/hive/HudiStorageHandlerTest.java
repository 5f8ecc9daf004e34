package io.pyhudi.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.hadoop.hive.metastore.api.StorageDescriptor;
import org.apache.hadoop.hive.metastore.api.Table;
import org.junit.jupiter.api.Test;

class HudiStorageHandlerTest {
  private static String uriForAuth(String location) throws Exception {
    Table table = new Table();
    table.setSd(new StorageDescriptor());
    table.getSd().setLocation(location);
    return new HudiStorageHandler().getURIForAuth(table).toString();
  }

  @Test
  void authorisationUsesTheLocation() throws Exception {
    assertEquals("hudi:/warehouse/trips", uriForAuth("/warehouse/trips"));
    assertEquals("hudi:/warehouse/trips", uriForAuth("file:/warehouse/trips/"));
    assertEquals("hudi://nn:8020/lake/a%20b", uriForAuth("hdfs://nn:8020/lake/a b"));
    assertEquals("hudi://bucket/lake/trips", uriForAuth("s3a://bucket/lake//trips"));
  }
}
