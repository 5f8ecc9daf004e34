package io.pyhudi.hive.planning;

import io.pyhudi.hive.protocol.FirstRows;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;

/**
 * Finds which rows an aggregate over all rows needs: of each minimum and maximum the first row of
 * an order, and of a query that asks only whether there is a row, one.
 */
final class GroupedRows {
  private GroupedRows() {}

  /**
   * Returns the rows that are enough together; none if all may be needed.
   *
   * @param projections those between the scan and the aggregates
   */
  static List<FirstRows> of(GroupByDesc grouping, Projections projections) {
    List<AggregationDesc> aggregates = grouping.getAggregators();
    boolean isOneGroup =
        grouping.getKeys().stream()
            .allMatch(key -> projections.overScan(key) instanceof ExprNodeConstantDesc);
    if (!isOneGroup || grouping.isGroupingSetsPresent()) {
      return Collections.emptyList();
    }
    if (aggregates.isEmpty()) {
      // Whether there is a group, as in EXISTS.
      return Collections.singletonList(new FirstRows(1));
    }
    List<FirstRows> ends = new ArrayList<>();
    for (AggregationDesc aggregate : aggregates) {
      boolean isEnd = MinMaxQuery.isExtreme(aggregate) && aggregate.getParameters().size() == 1;
      ExprNodeColumnDesc column =
          isEnd ? projections.columnOfScan(aggregate.getParameters().get(0)) : null;
      if (column == null) {
        return Collections.emptyList();
      }
      FirstRows end = firstOf(column);
      end.setDescending(aggregate.getGenericUDAFName().equalsIgnoreCase("max"));
      end.setNullsFirst(false).setAnyOfEqual(true);
      if (!ends.contains(end)) {
        ends.add(end);
      }
    }
    return ends;
  }

  private static FirstRows firstOf(ExprNodeColumnDesc column) {
    return new FirstRows(1)
        .setPath(Collections.singletonList(column.getColumn()))
        .setType(column.getTypeString().toLowerCase(Locale.ROOT));
  }
}
