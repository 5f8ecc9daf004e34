package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.Expressions.call;
import static io.pyhudi.hive.predicate.Expressions.column;
import static io.pyhudi.hive.predicate.Expressions.constant;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.junit.jupiter.api.Test;

class ScanFilterTest {
  private static final ExprNodeGenericFuncDesc OSLO =
      call("=", column("city", "string"), constant("Oslo", "string"));
  private static final ExprNodeGenericFuncDesc BERN =
      call("=", column("city", "string"), constant("Bern", "string"));

  private static TableScanDesc scan(String table, ExprNodeGenericFuncDesc filter) {
    TableScanDesc scan = new TableScanDesc(table, new Table("lake", table));
    scan.setFilterExpr(filter);
    return scan;
  }

  @Test
  void theFilterOfOneScanIsItsOwn() {
    assertSame(OSLO, ScanFilter.either(Collections.singletonList(scan("trips", OSLO))));
  }

  @Test
  void aFileIsKeptThatAnyScanMayNeed() {
    ExprNodeGenericFuncDesc either =
        ScanFilter.either(Arrays.asList(scan("trips", OSLO), scan("trips", BERN)));
    assertEquals("((city = 'Oslo') or (city = 'Bern'))", either.getExprString());
  }

  @Test
  void aScanWithoutFilterNeedsEveryFile() {
    assertNull(ScanFilter.either(Arrays.asList(scan("trips", OSLO), scan("trips", null))));
    assertNull(ScanFilter.either(Collections.emptyList()));
  }

  @Test
  void twoTablesAtOneLocationAreNotJudgedTogether() {
    assertNull(ScanFilter.either(Arrays.asList(scan("trips", OSLO), scan("others", BERN))));
  }
}
