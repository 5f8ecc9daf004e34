package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.FirstRows;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.ql.CompilationOpContext;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.OperatorFactory;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.LimitDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.ReduceSinkDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.plan.TopNKeyDesc;
import org.apache.hadoop.hive.ql.plan.UDTFDesc;
import org.apache.hadoop.hive.ql.plan.UnionDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPGreaterThan;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.junit.jupiter.api.Test;

class FirstRowsQueryTest {
  private static final TypeInfo INT = TypeInfoFactory.intTypeInfo;
  private static final CompilationOpContext CONTEXT = new CompilationOpContext();

  private static ExprNodeDesc column(String name) {
    return new ExprNodeColumnDesc(INT, name, "t", false);
  }

  private static ExprNodeGenericFuncDesc above(String column, int value) {
    return new ExprNodeGenericFuncDesc(
        TypeInfoFactory.booleanTypeInfo,
        new GenericUDFOPGreaterThan(),
        Arrays.asList(column(column), new ExprNodeConstantDesc(INT, value)));
  }

  private static ExprNodeDesc both(ExprNodeDesc one, ExprNodeDesc other) {
    return ExprNodeDescUtils.mergePredicates(one, other);
  }

  private static FilterDesc filter(ExprNodeDesc condition) {
    return new FilterDesc(condition, false);
  }

  /** Projects `_col0`, `_col1` ... */
  private static SelectDesc select(ExprNodeDesc... columns) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < columns.length; i++) {
      names.add("_col" + i);
    }
    return new SelectDesc(Arrays.asList(columns), names);
  }

  private static ReduceSinkDesc sent(ExprNodeDesc key, String order, String nulls, int rows) {
    ReduceSinkDesc sent = new ReduceSinkDesc();
    sent.setKeyCols(new ArrayList<>(Collections.singletonList(key)));
    sent.setPartitionCols(new ArrayList<>());
    sent.setNumReducers(1);
    sent.setTopN(rows);
    // The orders are properties of the keys' format.
    sent.setKeySerializeInfo(new org.apache.hadoop.hive.ql.plan.TableDesc());
    sent.getKeySerializeInfo().setProperties(new java.util.Properties());
    sent.setOrder(order);
    sent.setNullOrder(nulls);
    return sent;
  }

  private static TableScanOperator scan(OperatorDesc... operators) {
    TableScanOperator scan =
        (TableScanOperator) OperatorFactory.get(CONTEXT, new TableScanDesc((String) null, null));
    Operator<? extends OperatorDesc> last = scan;
    for (OperatorDesc each : operators) {
      last = below(last, each);
    }
    return scan;
  }

  private static Operator<? extends OperatorDesc> below(
      Operator<? extends OperatorDesc> parent, OperatorDesc child) {
    Operator<? extends OperatorDesc> added = OperatorFactory.get(CONTEXT, child);
    added.setParentOperators(new ArrayList<>(Collections.singletonList(parent)));
    if (parent.getChildOperators() == null) {
      parent.setChildOperators(new ArrayList<>());
    }
    parent.getChildOperators().add(added);
    return added;
  }

  private static FirstRows found(ExprNodeDesc pushed, OperatorDesc... operators) {
    List<FirstRows> found = FirstRowsQuery.of(scan(operators), pushed, true);
    assertTrue(found.size() < 2);
    return found.isEmpty() ? null : found.get(0);
  }

  private static GroupByDesc grouped(List<ExprNodeDesc> keys, AggregationDesc... aggregates) {
    GroupByDesc grouped = new GroupByDesc();
    grouped.setKeys(new ArrayList<>(keys));
    grouped.setAggregators(new ArrayList<>(Arrays.asList(aggregates)));
    return grouped;
  }

  private static AggregationDesc aggregate(String name, ExprNodeDesc... parameters) {
    AggregationDesc aggregate = new AggregationDesc();
    aggregate.setGenericUDAFName(name);
    aggregate.setParameters(new ArrayList<>(Arrays.asList(parameters)));
    return aggregate;
  }

  private static FirstRows end(String column, boolean isGreatest) {
    return new FirstRows(1)
        .setPath(Collections.singletonList(column))
        .setType("int")
        .setDescending(isGreatest)
        .setNullsFirst(false)
        .setAnyOfEqual(true);
  }

  @Test
  void rowsOfALimitAndItsOffsetAreNeeded() {
    assertEquals(new FirstRows(10), found(null, select(column("a")), new LimitDesc(10)));
    assertEquals(new FirstRows(15), found(null, select(column("a")), new LimitDesc(5, 10)));
    assertEquals(new FirstRows(10), found(above("a", 1), filter(above("a", 1)), new LimitDesc(10)));
  }

  @Test
  void theFilterMustHaveBeenSent() {
    assertNull(found(null, filter(above("a", 1)), new LimitDesc(10)));
    assertNull(found(above("a", 2), filter(above("a", 1)), new LimitDesc(10)));
    ExprNodeDesc more = both(above("a", 1), above("b", 1));
    assertNull(found(above("a", 1), filter(more), new LimitDesc(10)));
    assertEquals(new FirstRows(10), found(more, filter(above("a", 1)), new LimitDesc(10)));
  }

  @Test
  void aFilterAboveAProjectionIsNotTheSentOne() {
    SelectDesc renamed = select(column("b"));
    assertNull(found(above("_col0", 1), renamed, filter(above("_col0", 1)), new LimitDesc(10)));
  }

  @Test
  void theFirstColumnOfAnOrderIsFollowedThroughProjections() {
    SelectDesc inner = select(column("x"), column("a"));
    SelectDesc outer = select(column("_col1"));
    FirstRows expected =
        new FirstRows(7)
            .setPath(Collections.singletonList("a"))
            .setType("int")
            .setDescending(true)
            .setNullsFirst(false);
    assertEquals(expected, found(null, inner, outer, sent(column("_col0"), "-+", "za", 7)));
    expected.setDescending(false).setNullsFirst(true);
    assertEquals(expected, found(null, inner, outer, sent(column("_col0"), "+-", "az", 7)));
  }

  /** Hive 4 keeps the first keys before, and sends all rows that are left. */
  @Test
  void theKeysThatAreKeptBeforeCount() {
    ReduceSinkDesc sent = sent(column("_col0"), "+-", "az", -1);
    TopNKeyDesc keys = new TopNKeyDesc();
    keys.setTopN(7);
    keys.setKeyColumns(Collections.singletonList(column("a")));
    keys.setColumnSortOrder("+-");
    keys.setNullOrder("az");
    assertEquals(7, found(null, keys, select(column("a")), sent).getRows());
    assertNull(found(null, keys, select(column("b")), sent));
    assertNull(found(null, keys, new LimitDesc(10)));
    keys.setNullOrder("zz");
    assertNull(found(null, keys, select(column("a")), sent));
    keys.setNullOrder("az");
    keys.setPartitionKeyColumns(Collections.singletonList(column("b")));
    assertNull(found(null, keys, select(column("a")), sent));
  }

  @Test
  void computedKeysHaveNoBounds() {
    assertNull(found(null, select(above("a", 1)), sent(column("_col0"), "+", "a", 7)));
    assertNull(found(null, sent(above("a", 1), "+", "a", 7)));
    ExprNodeDesc virtual = new ExprNodeColumnDesc(INT, "a", "t", true);
    assertNull(found(null, sent(virtual, "+", "a", 7)));
  }

  @Test
  void rowsThatAreNotSentForAnOrderAloneAreAllNeeded() {
    ReduceSinkDesc all = sent(column("a"), "+", "a", -1);
    ReduceSinkDesc divided = sent(column("a"), "+", "a", 7);
    divided.setPartitionCols(new ArrayList<>(Collections.singletonList(column("a"))));
    ReduceSinkDesc toMany = sent(column("a"), "+", "a", 7);
    toMany.setNumReducers(-1);
    ReduceSinkDesc grouped = sent(column("a"), "+", "a", 7);
    grouped.setMapGroupBy(true);
    ReduceSinkDesc window = sent(column("a"), "+", "a", 7);
    window.setPTFReduceSink(true);
    ReduceSinkDesc unknown = sent(column("a"), "+", "", 7);
    for (ReduceSinkDesc each : Arrays.asList(all, divided, toMany, grouped, window, unknown)) {
      assertNull(found(null, select(column("a")), each));
    }
    TableScanOperator scan = scan(sent(column("a"), "+", "a", 7));
    assertTrue(FirstRowsQuery.of(scan, null, false).isEmpty());
  }

  @Test
  void aMinimumOrMaximumNeedsTheFirstRowOfAnOrder() {
    List<ExprNodeDesc> none = Collections.emptyList();
    SelectDesc selected = select(column("b"), column("a"));
    GroupByDesc ends =
        grouped(
            none,
            aggregate("min", column("_col1")),
            aggregate("max", column("_col0")),
            aggregate("min", column("_col1")));
    List<FirstRows> expected = Arrays.asList(end("a", false), end("b", true));
    TableScanOperator scan = scan(filter(above("a", 1)), selected, ends);
    assertEquals(expected, FirstRowsQuery.of(scan, above("a", 1), true));
    assertTrue(FirstRowsQuery.of(scan, null, true).isEmpty());
  }

  @Test
  void otherAggregatesAndGroupsNeedAllRows() {
    List<ExprNodeDesc> none = Collections.emptyList();
    AggregationDesc least = aggregate("min", column("a"));
    for (AggregationDesc each :
        Arrays.asList(
            aggregate("count"),
            aggregate("sum", column("a")),
            aggregate("max", above("a", 1)),
            aggregate("max", column("a"), column("b")))) {
      assertNull(found(null, grouped(none, least, each)));
    }
    assertNull(found(null, grouped(Collections.singletonList(column("b")), least)));
    assertNull(found(null, grouped(Collections.singletonList(column("b")))));
    GroupByDesc sets = grouped(none, least);
    sets.setGroupingSetsPresent(true);
    assertNull(found(null, sets));
  }

  @Test
  void oneRowShowsThatThereIsOne() {
    ExprNodeDesc isThere = new ExprNodeConstantDesc(TypeInfoFactory.booleanTypeInfo, true);
    GroupByDesc grouped = grouped(Collections.singletonList(isThere));
    assertEquals(new FirstRows(1), found(above("a", 1), filter(above("a", 1)), grouped));
    GroupByDesc projected = grouped(Collections.singletonList(column("_col0")));
    assertEquals(new FirstRows(1), found(null, select(isThere), projected));
  }

  @Test
  void otherOperatorsNeedAllRows() {
    LimitDesc limit = new LimitDesc(10);
    for (OperatorDesc each : Arrays.asList(new UnionDesc(), new UDTFDesc())) {
      assertNull(found(null, each, limit));
    }
  }

  @Test
  void twoConsumersOfAScanNeedAllRows() {
    TableScanOperator scan = scan(new LimitDesc(10));
    below(scan, new LimitDesc(10));
    assertTrue(FirstRowsQuery.of(scan, null, true).isEmpty());
  }

  @Test
  void samplesAreNotTheRowsOfFiles() {
    TableScanOperator scan = scan(new LimitDesc(10));
    scan.getConf().setRowLimit(5);
    assertTrue(FirstRowsQuery.of(scan, null, true).isEmpty());
  }
}
