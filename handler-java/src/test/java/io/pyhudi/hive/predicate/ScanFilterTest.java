package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.FilteredScans.BERN;
import static io.pyhudi.hive.predicate.FilteredScans.OSLO;
import static io.pyhudi.hive.predicate.FilteredScans.scan;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.junit.jupiter.api.Test;

class ScanFilterTest {
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
