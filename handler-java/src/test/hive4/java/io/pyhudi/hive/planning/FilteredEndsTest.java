package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.ColumnSummary;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.MatchingRows;
import io.pyhudi.hive.protocol.PruneCounts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.hive.ql.CompilationOpContext;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.OperatorFactory;
import org.apache.hadoop.hive.ql.exec.RowSchema;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPGreaterThan;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;

/** Counts and ends with a filter over one column. */
class FilteredEndsTest {
  private static final TypeInfo INT = TypeInfoFactory.intTypeInfo;

  private static ExprNodeDesc column(String name) {
    return new ExprNodeColumnDesc(INT, name, "t", false);
  }

  private static ExprNodeDesc above(String column, ExprNodeDesc other) {
    return new ExprNodeGenericFuncDesc(
        TypeInfoFactory.booleanTypeInfo,
        new GenericUDFOPGreaterThan(),
        Arrays.asList(column(column), other));
  }

  private static ExprNodeDesc above(String column, int value) {
    return above(column, new ExprNodeConstantDesc(INT, value));
  }

  /** The query {@code SELECT count(*) FROM t WHERE ...}. */
  private static Optional<MinMaxQuery> counting(ExprNodeDesc filter, ExprNodeDesc sent) {
    TableScanOperator scan =
        (TableScanOperator)
            OperatorFactory.get(new CompilationOpContext(), new TableScanDesc((String) null, null));
    Operator<?> filtered =
        OperatorFactory.getAndMakeChild(new FilterDesc(filter, false), new RowSchema(), scan);
    AggregationDesc count = new AggregationDesc();
    count.setGenericUDAFName("count");
    count.setParameters(new ArrayList<>());
    GroupByDesc counted = new GroupByDesc();
    counted.setKeys(new ArrayList<>());
    counted.setAggregators(new ArrayList<>(Collections.singletonList(count)));
    OperatorFactory.getAndMakeChild(counted, new RowSchema(), filtered);
    return MinMaxQuery.of(scan, sent);
  }

  private static ColumnSummary summary(int least, int greatest, Long nulls) {
    ColumnSummary summary = new ColumnSummary("a").setAttained(true);
    summary.setLeast(new Literal("int").setIntegerValue(least));
    summary.setGreatest(new Literal("int").setIntegerValue(greatest));
    if (nulls != null) {
      summary.setNulls(nulls);
    }
    return summary;
  }

  private static Optional<ExtremeRows> rows(long rows, ColumnSummary... columns) {
    MinMaxQuery query = counting(above("a", 1), above("a", 1)).orElseThrow(AssertionError::new);
    List<ColumnSummary> known = Arrays.asList(columns);
    return ExtremeRows.of(
        new JobConf(false), query, new MatchingRows(rows, known), new PruneCounts());
  }

  @Test
  void theWholeFilterMustHaveBeenSent() {
    ExprNodeDesc more = ExprNodeDescUtils.mergePredicates(above("a", 1), above("a", -5));
    assertTrue(counting(above("a", 1), above("a", 1)).isPresent());
    assertTrue(counting(above("a", 1), more).isPresent());
    assertFalse(counting(more, above("a", 1)).isPresent());
  }

  @Test
  void oneColumnIsComparedWithConstants() {
    ExprNodeDesc two = ExprNodeDescUtils.mergePredicates(above("a", 1), above("b", 1));
    assertFalse(counting(two, two).isPresent());
    ExprNodeDesc another = above("a", column("b"));
    assertFalse(counting(another, another).isPresent());
  }

  @Test
  void generatedRowsPassTheFilter() {
    ExtremeRows found = rows(3, summary(5, 9, 0L)).orElseThrow(AssertionError::new);
    assertEquals(3, found.rows());
    assertEquals(new IntWritable(5), found.value("a", INT, 0));
    assertEquals(new IntWritable(9), found.value("a", INT, 2));
  }

  @Test
  void rowsWithoutKnownValuesAreRead() {
    assertFalse(rows(3).isPresent());
    assertFalse(rows(3, summary(5, 9, null)).isPresent());
    assertFalse(rows(3, summary(5, 9, 1L)).isPresent());
    assertFalse(rows(3, summary(5, 9, 0L).setAttained(false)).isPresent());
    assertFalse(rows(1, summary(5, 9, 0L)).isPresent());
  }
}
