package io.pyhudi.hive.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.MetadataColumn;
import io.pyhudi.hive.protocol.MetadataResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
import org.apache.hadoop.io.ArrayWritable;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.junit.jupiter.api.Test;

class MetadataRowsTest {
  private static MetadataColumn column(String name, String type) {
    return new MetadataColumn(name, type, "").setNulls(Collections.singletonList(1));
  }

  private static MetadataRows rows(MetadataColumn... columns) throws IOException {
    MetadataResponse response = new MetadataResponse(1, "q", "/table", PruneStatus.OK);
    response.setColumns(Arrays.asList(columns)).setRowsConsidered(9).setRowsSent(2);
    DataOutputBuffer out = new DataOutputBuffer();
    MetadataRows.of(response).write(out);
    DataInputBuffer in = new DataInputBuffer();
    in.reset(out.getData(), out.getLength());
    return MetadataRows.read(in);
  }

  private static TypeInfo type(String name) {
    return TypeInfoUtils.getTypeInfoFromTypeString(name);
  }

  @Test
  void valuesOfEveryTypeTravel() throws Exception {
    MetadataRows rows =
        rows(
            column("s", "string").setTexts(Arrays.asList("é", "")),
            column("n", "bigint").setIntegers(Arrays.asList(1L << 40, 0L)),
            column("t", "timestamp").setIntegers(Arrays.asList(-1L, 0L)),
            column("l", "array<string>")
                .setTextLists(Arrays.asList(Arrays.asList("a", "b"), Collections.emptyList())));
    assertEquals(2, rows.size());
    assertEquals(9, rows.considered());
    assertEquals(new Text("é"), rows.values("S", type("string")).apply(0));
    assertEquals(new LongWritable(1L << 40), rows.values("n", type("bigint")).apply(0));
    assertEquals(
        "1969-12-31 23:59:59.999", rows.values("t", type("timestamp")).apply(0).toString());
    ArrayWritable list = (ArrayWritable) rows.values("l", type("array<string>")).apply(0);
    assertEquals(Arrays.asList(new Text("a"), new Text("b")), Arrays.asList(list.get()));
    for (String name : new String[] {"s", "n", "t", "l"}) {
      String declared = name.equals("s") ? "string" : name.equals("n") ? "bigint" : "timestamp";
      assertNull(rows.values(name, type(name.equals("l") ? "array<string>" : declared)).apply(1));
    }
  }

  @Test
  void columnsThatTheServiceDoesNotSendAreErrorsAndNotNulls() throws Exception {
    MetadataRows rows =
        rows(
            column("s", "string").setTexts(Arrays.asList("a", "b")),
            column("short", "string").setTexts(Collections.singletonList("a")),
            column("later", "struct<a:int>"));
    for (String[] wanted :
        new String[][] {
          {"other", "string", "is not known"},
          {"s", "bigint", "is bigint in Hive, and string now"},
          {"short", "string", "was not sent with 2 values"},
          {"later", "struct<a:int>", "of a later version"}
        }) {
      IOException refused =
          assertThrows(IOException.class, () -> rows.values(wanted[0], type(wanted[1])));
      assertTrue(refused.getMessage().contains(wanted[2]), refused.getMessage());
      assertTrue(refused.getMessage().contains("register it again"), refused.getMessage());
    }
  }
}
