package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.junit.jupiter.api.Test;

class MinMaxQueryTest {
  private static final TypeInfo INT = TypeInfoFactory.intTypeInfo;
  private static final ExprNodeDesc ONE = new ExprNodeConstantDesc(INT, 1);
  private static final ExprNodeDesc NULL = new ExprNodeConstantDesc(INT, null);

  private static ExprNodeDesc column(String name) {
    return new ExprNodeColumnDesc(INT, name, "t", false);
  }

  private static AggregationDesc call(String name, ExprNodeDesc... parameters) {
    AggregationDesc aggregation = new AggregationDesc();
    aggregation.setGenericUDAFName(name);
    aggregation.setParameters(new ArrayList<>(Arrays.asList(parameters)));
    return aggregation;
  }

  private static AggregationDesc distinct(AggregationDesc aggregation) {
    aggregation.setDistinct(true);
    return aggregation;
  }

  private static GroupByDesc grouping(AggregationDesc... aggregations) {
    GroupByDesc grouping = new GroupByDesc();
    grouping.setKeys(new ArrayList<>());
    grouping.setAggregators(new ArrayList<>(Arrays.asList(aggregations)));
    return grouping;
  }

  private static Optional<MinMaxQuery> query(AggregationDesc... aggregations) {
    return MinMaxQuery.of(grouping(aggregations), null);
  }

  private static Map<String, TypeInfo> integers(String... names) {
    return Arrays.stream(names).collect(Collectors.toMap(name -> name, name -> INT));
  }

  private static void assertOther(AggregationDesc... aggregations) {
    assertFalse(query(aggregations).isPresent());
  }

  @Test
  void minAndMaxOfColumnsAreRecognised() {
    MinMaxQuery found = query(call("min", column("A")), call("MAX", column("b"))).get();
    assertEquals(integers("a", "b"), found.columns());
    assertFalse(found.countsAny());
  }

  @Test
  void rowsAreCountedByStarsAndByConstants() {
    for (AggregationDesc count : Arrays.asList(call("count"), call("COUNT", ONE))) {
      MinMaxQuery found = query(call("min", column("a")), count).get();
      assertEquals(integers("a"), found.columns());
      assertTrue(found.countsAny());
      assertFalse(found.counts("a"));
    }
    assertTrue(query(call("count")).get().countsAny());
  }

  @Test
  void valuesOfAColumnAreCounted() {
    MinMaxQuery found = query(call("count", column("A")), call("max", column("b"))).get();
    assertEquals(integers("a", "b"), found.columns());
    assertTrue(found.countsAny());
    assertTrue(found.counts("a"));
    assertFalse(found.counts("b"));
  }

  @Test
  void columnsAndConstantsAreFoundBehindASelection() {
    List<ExprNodeDesc> selected = Arrays.asList(column("a"), ONE, NULL);
    SelectDesc selection = new SelectDesc(selected, Arrays.asList("_col0", "_col1", "_col2"));
    GroupByDesc grouping = grouping(call("count", column("_col0")), call("count", column("_col1")));
    MinMaxQuery found = MinMaxQuery.of(grouping, selection).get();
    assertEquals(integers("a"), found.columns());
    assertTrue(found.counts("a"));
    GroupByDesc ofNulls = grouping(call("count", column("_col2")));
    assertFalse(MinMaxQuery.of(ofNulls, selection).isPresent());
    GroupByDesc ofAnother = grouping(call("count", column("_col3")));
    assertFalse(MinMaxQuery.of(ofAnother, selection).isPresent());
  }

  @Test
  void otherThingsNeedTheRows() {
    assertOther();
    assertOther(call("count", NULL));
    assertOther(distinct(call("count", column("a"))));
    assertOther(distinct(call("count")));
    assertOther(call("count", column("a"), column("b")));
    assertOther(call("sum", column("a")));
    assertOther(call("avg", column("a")), call("count"));
    assertOther(call("min", ONE));
    assertOther(call("max", column("a"), column("b")));
    assertOther(call("count", new ExprNodeColumnDesc(INT, "p", "t", true)));
  }

  @Test
  void groupsNeedTheRows() {
    GroupByDesc grouping = grouping(call("count"), call("max", column("a")));
    grouping.setKeys(new ArrayList<>(Collections.singletonList(column("b"))));
    assertFalse(MinMaxQuery.of(grouping, null).isPresent());
  }
}
