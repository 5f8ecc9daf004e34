package io.pyhudi.hive.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.CompilationOpContext;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.OperatorFactory;
import org.apache.hadoop.hive.ql.exec.RowSchema;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.io.IOConstants;
import org.apache.hadoop.hive.ql.metadata.VirtualColumn;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.junit.jupiter.api.Test;

/** Scans of a table that is partitioned by {@code day} and {@code hour}. */
class PartitionQueryTest {
  private final Configuration table = new Configuration(false);
  private final TableScanOperator scan =
      (TableScanOperator)
          OperatorFactory.get(new CompilationOpContext(), new TableScanDesc((String) null, null));

  PartitionQueryTest() {
    table.set(IOConstants.COLUMNS, "id,day,hour");
    table.set(IOConstants.COLUMNS_TYPES, "bigint:string:int");
  }

  private Optional<PartitionQuery> needing(String... columns) {
    scan.setNeededColumns(Arrays.asList(columns));
    return PartitionQuery.of(scan, Arrays.asList("day", "hour"), table);
  }

  private static <T extends OperatorDesc> Operator<T> above(Operator<?> operator, T description) {
    return OperatorFactory.getAndMakeChild(description, new RowSchema(), operator);
  }

  private static GroupByDesc grouped(AggregationDesc... aggregates) {
    GroupByDesc grouping = new GroupByDesc();
    grouping.setKeys(new ArrayList<>());
    grouping.setAggregators(new ArrayList<>(Arrays.asList(aggregates)));
    return grouping;
  }

  private static AggregationDesc aggregate(String name, boolean distinct) {
    AggregationDesc aggregate = new AggregationDesc();
    aggregate.setGenericUDAFName(name);
    aggregate.setDistinct(distinct);
    return aggregate;
  }

  @Test
  void onlyPartitionColumnsAreNeeded() {
    PartitionQuery query = needing("hour", "day").orElseThrow(AssertionError::new);
    assertEquals(Arrays.asList("day", "hour"), query.columnNames());
    assertEquals(
        Arrays.asList(TypeInfoFactory.stringTypeInfo, TypeInfoFactory.intTypeInfo), query.types());
    assertTrue(needing("day").isPresent());
  }

  @Test
  void otherColumnsAreReadFromFiles() {
    assertFalse(needing("day", "id").isPresent());
    assertFalse(needing().isPresent());
    scan.getConf().setVirtualCols(new ArrayList<>(Arrays.asList(VirtualColumn.FILENAME)));
    assertFalse(needing("day").isPresent());
  }

  @Test
  void partsOfATableAreReadFromFiles() {
    scan.getConf().setRowLimit(5);
    assertFalse(needing("day").isPresent());
  }

  @Test
  void unknownTypesAreReadFromFiles() {
    table.set(IOConstants.COLUMNS, "id,hour");
    assertFalse(needing("day").isPresent());
  }

  private boolean countsRows() {
    return needing("day").orElseThrow(AssertionError::new).countsRows();
  }

  @Test
  void rowsAreCountedUnlessTheirNumberChangesNothing() {
    assertTrue(countsRows());
    List<AggregationDesc> indifferent =
        Arrays.asList(aggregate("count", true), aggregate("max", false), aggregate("min", false));
    for (AggregationDesc aggregate : indifferent) {
      PartitionQueryTest plan = new PartitionQueryTest();
      above(plan.scan, grouped(aggregate));
      assertFalse(plan.countsRows(), aggregate.getGenericUDAFName());
    }
    above(scan, grouped(aggregate("max", false), aggregate("count", false)));
    assertTrue(countsRows());
  }

  @Test
  void rowsAreNotCountedForDistinctValues() {
    SelectDesc projection = new SelectDesc(false);
    projection.setColList(
        new ArrayList<>(
            Collections.singletonList(
                new ExprNodeColumnDesc(TypeInfoFactory.stringTypeInfo, "day", "t", false))));
    above(above(scan, projection), grouped());
    assertFalse(countsRows());
  }

  @Test
  void aFilterMayTakeRowsByChance() {
    FilterDesc filter =
        new FilterDesc(new ExprNodeConstantDesc(TypeInfoFactory.booleanTypeInfo, true), false);
    above(above(scan, filter), grouped());
    assertTrue(countsRows());
  }
}
