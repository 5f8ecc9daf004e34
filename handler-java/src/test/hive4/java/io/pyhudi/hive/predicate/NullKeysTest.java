package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.Expressions.call;
import static io.pyhudi.hive.predicate.Expressions.column;
import static io.pyhudi.hive.predicate.Expressions.constant;
import static io.pyhudi.hive.predicate.Expressions.type;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.hive.ql.CompilationOpContext;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.OperatorFactory;
import org.apache.hadoop.hive.ql.exec.ReduceSinkOperator;
import org.apache.hadoop.hive.ql.exec.RowSchema;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicListDesc;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.JoinDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.ReduceSinkDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.junit.jupiter.api.Test;

/** Keys of {@code trips JOIN stops ON trips.id = stops.k}, of a type. */
class NullKeysTest {
  private static final ExprNodeDesc KEY = column("k", "bigint");
  private static final ExprNodeDesc KNOWN = call("isnotnull", KEY);
  private static final ExprNodeDesc FIVE = constant(5L, "bigint");

  private final Operator<?> scan =
      OperatorFactory.get(new CompilationOpContext(), new TableScanDesc("stops", null));

  private static <T extends OperatorDesc> Operator<T> above(Operator<?> operator, T description) {
    return OperatorFactory.getAndMakeChild(description, new RowSchema(), operator);
  }

  private static ReduceSinkOperator keyed(Operator<?> rows, ExprNodeDesc key) {
    ReduceSinkDesc description = new ReduceSinkDesc();
    description.setKeyCols(new ArrayList<>(Collections.singletonList(key)));
    return (ReduceSinkOperator) (Operator<?>) above(rows, description);
  }

  private boolean areExcluded(ExprNodeDesc condition, ExprNodeDesc key) {
    return NullKeys.areExcluded(
        keyed(condition == null ? scan : above(scan, new FilterDesc(condition, false)), key), key);
  }

  private static ExprNodeDesc joined(ReduceSinkOperator side, String type) {
    ExprNodeDesc keys = new ExprNodeDynamicListDesc(type(type), side, 0);
    return call("in", column("id", type), keys);
  }

  private static ExprNodeDesc collected(ExprNodeDesc joined) {
    return ((ExprNodeDynamicListDesc) joined.getChildren().get(1)).getTarget();
  }

  @Test
  void conditionsExcludeNull() {
    for (ExprNodeDesc condition :
        Arrays.asList(
            KNOWN,
            call(">", KEY, FIVE),
            call("=", FIVE, KEY),
            call("in", KEY, FIVE, constant(6L, "bigint")),
            call("between", constant(true, "boolean"), KEY, FIVE, FIVE),
            call("and", call("=", column("t", "int"), constant(1, "int")), KNOWN))) {
      assertTrue(areExcluded(condition, KEY), condition.getExprString());
    }
  }

  @Test
  void otherConditionsDoNot() {
    for (ExprNodeDesc condition :
        Arrays.asList(
            null,
            call("isnull", KEY),
            call("isnotnull", column("t", "bigint")),
            call("<=>", KEY, FIVE),
            call("not", call("<=>", KEY, FIVE)),
            call("in", FIVE, KEY, FIVE),
            call("or", KNOWN, call("=", column("t", "int"), constant(1, "int"))))) {
      assertFalse(areExcluded(condition, KEY), () -> String.valueOf(condition));
    }
    assertFalse(areExcluded(KNOWN, call("+", KEY, FIVE)), "a key of a key");
    ExprNodeDesc keys = joined(keyed(scan, KEY), "bigint").getChildren().get(1);
    assertFalse(areExcluded(call("in", KEY, keys), KEY), "known only at run time");
  }

  @Test
  void theKeyIsFollowedThroughItsNames() {
    Operator<?> selected = above(above(scan, new FilterDesc(KNOWN, false)), new SelectDesc(false));
    selected.setColumnExprMap(Collections.singletonMap("_col0", KEY));
    ExprNodeDesc renamed = column("_col0", "bigint");
    assertTrue(NullKeys.areExcluded(keyed(selected, renamed), renamed));
    selected.setColumnExprMap(Collections.singletonMap("_col0", column("t", "bigint")));
    assertFalse(NullKeys.areExcluded(keyed(selected, renamed), renamed));
  }

  @Test
  void keysThatAreNeverNullStay() {
    ExprNodeDesc joined = joined(keyed(above(scan, new FilterDesc(KNOWN, false)), KEY), "bigint");
    assertTrue(NullKeys.replace(joined));
    assertNull(collected(joined));
  }

  @Test
  void keysOfAnotherJoinAreReplaced() {
    Operator<?> join = OperatorFactory.get(new CompilationOpContext(), new JoinDesc());
    Operator<?> side = keyed(scan, KEY);
    side.setChildOperators(new ArrayList<>(Collections.singletonList(join)));
    join.setParentOperators(new ArrayList<>(Collections.singletonList(side)));
    ExprNodeDesc joined = joined(keyed(join, KEY), "bigint");
    assertTrue(NullKeys.replace(joined));
    assertEquals("COALESCE(k,-9223372036854775808L)", collected(joined).getExprString());
  }

  @Test
  void keysStayWhereNullEqualsNull() {
    for (boolean isNullSafe : new boolean[] {true, false}) {
      JoinDesc description = new JoinDesc();
      description.setNullSafes(new boolean[] {false, isNullSafe});
      ReduceSinkOperator side = keyed(scan, KEY);
      Operator<?> join = OperatorFactory.get(new CompilationOpContext(), description);
      side.setChildOperators(new ArrayList<>(Collections.singletonList(join)));
      assertEquals(!isNullSafe, NullKeys.replace(joined(side, "bigint")));
    }
  }

  @Test
  void eachTypeHasARareValue() {
    for (String type :
        Arrays.asList("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp")) {
      ExprNodeDesc joined = joined(keyed(scan, column("k", type)), type);
      assertTrue(NullKeys.replace(joined), type);
      assertEquals(type, collected(joined).getTypeInfo().getTypeName());
    }
    assertFalse(NullKeys.replace(joined(keyed(scan, column("k", "double")), "double")));
  }

  @Test
  void theKeysOfThePlanHaveTheOthersToo() {
    ExprNodeDesc joined = joined(keyed(scan, KEY), "bigint");
    assertTrue(NullKeys.replace(joined));
    JoinKeys.nameIn(joined);
    assertEquals("COALESCE(k,-9223372036854775808L)", collected(joined).getExprString());
  }
}
