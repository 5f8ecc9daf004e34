package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.Expressions.call;
import static io.pyhudi.hive.predicate.Expressions.column;
import static io.pyhudi.hive.predicate.Expressions.constant;
import static io.pyhudi.hive.predicate.Expressions.type;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.CompilationOpContext;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.OperatorFactory;
import org.apache.hadoop.hive.ql.exec.ReduceSinkOperator;
import org.apache.hadoop.hive.ql.exec.RowSchema;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.DynamicPruningEventDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicListDesc;
import org.apache.hadoop.hive.ql.plan.FileSinkDesc;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.JoinDesc;
import org.apache.hadoop.hive.ql.plan.LimitDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.ReduceSinkDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.plan.UnionDesc;
import org.junit.jupiter.api.Test;

/** Plans of {@code trips JOIN stops ON trips.id = stops.k}, as Hive has them when it asks. */
class DynamicPruningTest {
  private static final ExprNodeDesc KEY = column("k", "bigint");
  private static final ExprNodeDesc KNOWN = call("isnotnull", KEY);

  private final CompilationOpContext context = new CompilationOpContext();
  private final Table trips =
      table("trips", "id", "bigint", "f", "double", "i", "int", "m", "decimal(9,2)");
  private final Operator<?> scan = scan(trips);
  private final Operator<?> join = OperatorFactory.get(context, new JoinDesc());
  private final FilterDesc filter = new FilterDesc(constant(true, "boolean"), false);

  private static Table table(String name, String... columns) {
    Table table = new Table("lake", name);
    List<FieldSchema> fields = new ArrayList<>();
    for (int i = 0; i < columns.length; i += 2) {
      fields.add(new FieldSchema(columns[i], columns[i + 1], null));
    }
    table.setFields(fields);
    return table;
  }

  private Operator<?> scan(Table table) {
    return OperatorFactory.get(context, new TableScanDesc(table.getTableName(), table));
  }

  private static <T extends OperatorDesc> Operator<T> above(Operator<?> operator, T description) {
    return OperatorFactory.getAndMakeChild(description, new RowSchema(), operator);
  }

  private static ReduceSinkDesc keyed(ExprNodeDesc key) {
    ReduceSinkDesc description = new ReduceSinkDesc();
    description.setKeyCols(new ArrayList<>(Collections.singletonList(key)));
    return description;
  }

  private static void join(Operator<?> side, Operator<?> join) {
    side.setChildOperators(new ArrayList<>(Collections.singletonList(join)));
    List<Operator<? extends OperatorDesc>> sides = new ArrayList<>();
    if (join.getParentOperators() != null) {
      sides.addAll(join.getParentOperators());
    }
    sides.add(side);
    join.setParentOperators(sides);
  }

  /** The other side: stops with a condition, or null. */
  private ReduceSinkOperator stops(ExprNodeDesc condition, ExprNodeDesc key) {
    Operator<?> rows = scan(table("stops", "k", "bigint"));
    if (condition != null) {
      rows = above(rows, new FilterDesc(condition, false));
    }
    Operator<?> side = above(rows, keyed(key));
    join(side, join);
    return (ReduceSinkOperator) side;
  }

  private Operator<?> trips() {
    Operator<?> filtered = above(scan, filter);
    Operator<?> selected = above(filtered, new SelectDesc(true));
    join(above(selected, keyed(column("id", "bigint"))), join);
    return selected;
  }

  private static ExprNodeDesc keysOf(ReduceSinkOperator side) {
    return new ExprNodeDynamicListDesc(side.getConf().getKeyCols().get(0).getTypeInfo(), side, 0);
  }

  private boolean mayRestrict(ExprNodeDesc condition, ExprNodeDesc key) {
    trips();
    return mayRestrict(call("in", column("id", "bigint"), keysOf(stops(condition, key))));
  }

  /** Hive has put the condition above the scan. */
  private boolean mayRestrict(ExprNodeDesc implied) {
    filter.setPredicate(call("and", constant(true, "boolean"), implied));
    return DynamicPruning.mayRestrict(trips, implied);
  }

  @Test
  void knownKeysRestrictAScan() {
    assertTrue(mayRestrict(KNOWN, KEY));
  }

  @Test
  void keysThatMayBeNullDoToo() {
    assertTrue(mayRestrict(null, KEY));
  }

  @Test
  void onlyColumnsOfExactlyTheKeysTypeAreRestricted() {
    trips();
    ReduceSinkOperator stops = stops(KNOWN, KEY);
    ExprNodeDesc keys = keysOf(stops);
    assertFalse(mayRestrict(call("in", column("none", "bigint"), keys)));
    // Declared as int, though the plan says bigint.
    assertFalse(mayRestrict(call("in", column("i", "bigint"), keys)));
    ExprNodeDesc wider = call("UDFToLong", column("i", "int"));
    assertFalse(mayRestrict(call("in", wider, keys)));
    // -0.0, 0.0 and NaN are not the same to joins and to filters.
    ExprNodeDesc doubles = new ExprNodeDynamicListDesc(type("double"), stops, 0);
    assertFalse(mayRestrict(call("in", column("f", "double"), doubles)));
    // Hive fails to find the type by its name.
    ExprNodeDesc decimals = new ExprNodeDynamicListDesc(type("decimal(9,2)"), stops, 0);
    assertFalse(mayRestrict(call("in", column("m", "decimal(9,2)"), decimals)));
  }

  @Test
  void onlyInIsRestricted() {
    trips();
    ExprNodeDesc keys = keysOf(stops(KNOWN, KEY));
    assertFalse(mayRestrict(call(">", column("id", "bigint"), keys)));
    assertFalse(mayRestrict(column("id", "bigint")));
  }

  @Test
  void aScanThatServesOthersTooIsReadWhole() {
    Operator<?> selected = trips();
    ExprNodeDesc condition = call("in", column("id", "bigint"), keysOf(stops(KNOWN, KEY)));
    // Keys of this table for another scan are no rows of the query.
    above(above(selected, new SelectDesc(true)), new DynamicPruningEventDesc());
    assertTrue(mayRestrict(condition));
    above(above(scan, new SelectDesc(true)), new FileSinkDesc());
    assertFalse(mayRestrict(condition));
  }

  @Test
  void eachScanOfATableHasItsOwnKeys() {
    trips();
    ExprNodeDesc condition = call("in", column("id", "bigint"), keysOf(stops(KNOWN, KEY)));
    assertTrue(mayRestrict(condition));
    assertFalse(DynamicPruning.isScannedAgain(trips, condition));
    Operator<?> united = above(join, new SelectDesc(true));
    Operator<?> second = above(scan(trips), new FilterDesc(constant(true, "boolean"), false));
    join(second, united);
    assertTrue(mayRestrict(condition));
    assertTrue(DynamicPruning.isScannedAgain(trips, condition));
    // That scan does not lead to the join.
    filter.setPredicate(constant(true, "boolean"));
    ((FilterDesc) second.getConf()).setPredicate(condition);
    assertFalse(DynamicPruning.mayRestrict(trips, condition));
  }

  @Test
  void aUnionOfRowsThatAreJoinedIsSeenBeforeTheyAreAggregated() {
    trips();
    ReduceSinkOperator stops = stops(KNOWN, KEY);
    ExprNodeDesc condition = call("in", column("id", "bigint"), keysOf(stops));
    assertTrue(mayRestrict(condition));
    Operator<?> aggregated = above(above(join, keyed(KEY)), new SelectDesc(true));
    above(aggregated, new UnionDesc());
    assertFalse(DynamicPruning.isBesideUnion(trips, condition));
    // On the other side of the join.
    Operator<?> rows = stops.getParentOperators().get(0);
    Operator<?> united = OperatorFactory.get(context, new UnionDesc());
    rows.setChildOperators(new ArrayList<>(Collections.singletonList(united)));
    united.setParentOperators(new ArrayList<>(Collections.singletonList(rows)));
    united.setChildOperators(new ArrayList<>(Collections.singletonList(stops)));
    stops.setParentOperators(new ArrayList<>(Collections.singletonList(united)));
    assertTrue(DynamicPruning.isBesideUnion(trips, condition));
  }

  @Test
  void keysThatAreOthersEachTimeAreNotThoseOfAnotherScan() {
    assertTrue(areRepeatable(KNOWN));
    assertFalse(areRepeatable(call("and", KNOWN, call(">", column("f", "double"), call("rand")))));
    Operator<?> limited = above(scan(table("stops", "k", "bigint")), new LimitDesc(5));
    Operator<?> side = above(above(limited, new FilterDesc(KNOWN, false)), keyed(KEY));
    ExprNodeDesc keys = keysOf((ReduceSinkOperator) side);
    assertFalse(DynamicPruning.areRepeatable(call("in", column("id", "bigint"), keys)));
  }

  private static boolean areRepeatable(ExprNodeDesc condition) {
    DynamicPruningTest plan = new DynamicPruningTest();
    ExprNodeDesc keys = keysOf(plan.stops(condition, KEY));
    return DynamicPruning.areRepeatable(call("in", column("id", "bigint"), keys));
  }

  @Test
  void emptyKeySetMatchesNoRow() {
    ExprNodeDesc nothing =
        new org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc(
            type("boolean"),
            new org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn(),
            "in",
            new ArrayList<>(Collections.singletonList(column("id", "bigint"))));
    assertEquals("NO_NULL", Expressions.encode(nothing));
  }
}
