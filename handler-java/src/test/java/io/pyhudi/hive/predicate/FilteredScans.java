package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.Expressions.call;
import static io.pyhudi.hive.predicate.Expressions.column;
import static io.pyhudi.hive.predicate.Expressions.constant;

import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;

/** Scans of tables by filters on a city. */
final class FilteredScans {
  static final ExprNodeGenericFuncDesc OSLO =
      call("=", column("city", "string"), constant("Oslo", "string"));
  static final ExprNodeGenericFuncDesc BERN =
      call("=", column("city", "string"), constant("Bern", "string"));

  private FilteredScans() {}

  static TableScanDesc scan(String table, ExprNodeGenericFuncDesc filter) {
    TableScanDesc scan = new TableScanDesc(table, new Table("lake", table));
    scan.setFilterExpr(filter);
    return scan;
  }
}
