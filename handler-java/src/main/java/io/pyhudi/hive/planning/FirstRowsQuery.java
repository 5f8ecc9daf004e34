package io.pyhudi.hive.planning;

import io.pyhudi.hive.predicate.SingleScan;
import io.pyhudi.hive.protocol.FirstRows;
import io.pyhudi.hive.version.HiveVersion;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.LimitDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.ReduceSinkDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;

/**
 * Finds in a job's plan how many rows of a scan its query needs: those of a LIMIT, the first of an
 * ORDER BY with a LIMIT, or those with the minimum and maximum values that it asks for.
 *
 * <p>There must be one way from the scan to these, with nothing on it but the scan's own filter and
 * projections. Other operators remove rows, add some, or need all of them: joins, aggregates,
 * windows, functions that return tables, unions, samples.
 *
 * <p>The order is that of the rows which are sent to a single reducer, if Hive keeps only the first
 * of them there, or only rows with the first keys before ({@code hive.limit.pushdown.memory.usage},
 * {@code hive.optimize.topnkey}). Rows are sent for a GROUP BY in the same way, and then all rows
 * of a key are needed; but those are aggregated before, unless {@code hive.map.aggr} is off, and
 * sorted by no subquery, unless {@code hive.remove.orderby.in.subquery} is off.
 */
public final class FirstRowsQuery {
  private static final String AGGREGATES_BEFORE = "hive.map.aggr";
  private static final String SORTS_ONCE = "hive.remove.orderby.in.subquery";
  private static final char DESCENDING = '-';
  private static final char ASCENDING = '+';
  private static final char NULLS_FIRST = 'a';
  private static final char NULLS_LAST = 'z';

  private final Set<String> pushed;
  private final Projections selected = new Projections();
  private FirstKeys kept;
  private ExprNodeColumnDesc keptColumn;

  private FirstRowsQuery(Set<String> pushed) {
    this.pushed = pushed;
  }

  /**
   * Returns which rows the query of a scan needs, all of these; none if it may need every row.
   *
   * @param filter the filter that is sent to the service, or null
   */
  public static List<FirstRows> of(JobConf job, List<Path> locations, ExprNodeDesc filter) {
    if (Utilities.getPlanPath(job) == null) {
      return PassedLimit.of(job);
    }
    TableScanOperator scan = SingleScan.of(job, locations);
    return scan == null || SingleScan.isSampled(job)
        ? Collections.emptyList()
        : of(scan, filter, job);
  }

  /** Returns the same of a scan whose plan is known, and which no sample restricts. */
  static List<FirstRows> of(Operator<TableScanDesc> scan, ExprNodeDesc filter, Configuration conf) {
    return of(
        scan,
        filter,
        conf.getBoolean(AGGREGATES_BEFORE, true) && conf.getBoolean(SORTS_ONCE, true));
  }

  /**
   * @param sortsForOrders whether rows are sorted for a GROUP BY after they have been aggregated
   *     only
   */
  static List<FirstRows> of(
      Operator<TableScanDesc> scan, ExprNodeDesc filter, boolean sortsForOrders) {
    return returnsAll(scan.getConf())
        ? new FirstRowsQuery(conditions(filter)).below(scan, sortsForOrders)
        : Collections.emptyList();
  }

  private static boolean returnsAll(TableScanDesc scan) {
    return scan.getRowLimit() < 0 && scan.getTableSample() == null;
  }

  private static Set<String> conditions(ExprNodeDesc filter) {
    if (filter == null) {
      return Collections.emptySet();
    }
    Set<String> conditions = new HashSet<>();
    ExprNodeDescUtils.split(filter).forEach(each -> conditions.add(each.getExprString()));
    return conditions;
  }

  private List<FirstRows> below(Operator<? extends OperatorDesc> scan, boolean sortsForOrders) {
    Operator<? extends OperatorDesc> operator = onlyChild(scan);
    while (operator != null) {
      OperatorDesc next = operator.getConf();
      if (next instanceof LimitDesc) {
        return kept == null ? listOf(any((LimitDesc) next)) : Collections.emptyList();
      }
      if (next instanceof GroupByDesc) {
        return kept == null
            ? GroupedRows.of((GroupByDesc) next, selected)
            : Collections.emptyList();
      }
      if (next instanceof ReduceSinkDesc) {
        return sortsForOrders ? listOf(first((ReduceSinkDesc) next)) : Collections.emptyList();
      }
      if (!passes(next)) {
        return Collections.emptyList();
      }
      operator = onlyChild(operator);
    }
    return Collections.emptyList();
  }

  private static List<FirstRows> listOf(FirstRows first) {
    return first == null ? Collections.emptyList() : Collections.singletonList(first);
  }

  /**
   * Returns the only operator that takes all rows of another one, if it takes no others; or null.
   */
  private static Operator<? extends OperatorDesc> onlyChild(
      Operator<? extends OperatorDesc> operator) {
    Operator<? extends OperatorDesc> child = Operators.onlyChild(operator);
    return child != null && child.getNumParent() <= 1 ? child : null;
  }

  /** Returns whether each row that matches the sent filter, and is needed, passes an operator. */
  private boolean passes(OperatorDesc operator) {
    if (operator instanceof FilterDesc) {
      // Above a projection, names may stand for other columns.
      FilterDesc filter = (FilterDesc) operator;
      return selected.isEmpty()
          && filter.getPredicate() != null
          && pushed.containsAll(conditions(filter.getPredicate()));
    }
    if (operator instanceof SelectDesc) {
      selected.add((SelectDesc) operator);
      return true;
    }
    kept = HiveVersion.firstKeys(operator);
    keptColumn = kept == null ? null : selected.columnOfScan(kept.column());
    return kept != null;
  }

  private static FirstRows any(LimitDesc limit) {
    if (limit.getLeastRows() > 0) {
      return null;
    }
    long passedOver = limit.getOffset() == null ? 0 : limit.getOffset();
    return new FirstRows(passedOver + limit.getLimit());
  }

  private FirstRows first(ReduceSinkDesc sent) {
    if (!isOrderOfAllRows(sent) || sent.getKeyCols().isEmpty()) {
      return null;
    }
    ExprNodeColumnDesc column = selected.columnOfScan(sent.getKeyCols().get(0));
    char direction = first(sent.getOrder());
    char nulls = first(sent.getNullOrder());
    boolean isKnown =
        (direction == ASCENDING || direction == DESCENDING)
            && (nulls == NULLS_FIRST || nulls == NULLS_LAST);
    if (column == null || !isKnown || !agrees(column, direction, nulls)) {
      return null;
    }
    int rows = Math.max(sent.getTopN(), kept == null ? 0 : kept.count());
    return rows <= 0
        ? null
        : new FirstRows(rows)
            .setPath(Collections.singletonList(column.getColumn()))
            .setType(column.getTypeString().toLowerCase(Locale.ROOT))
            .setDescending(direction == DESCENDING)
            .setNullsFirst(nulls == NULLS_FIRST);
  }

  /** Returns whether the keys that were kept before are the first ones of this order. */
  private boolean agrees(ExprNodeColumnDesc column, char direction, char nulls) {
    return kept == null
        || keptColumn != null
            && keptColumn.getColumn().equals(column.getColumn())
            && first(kept.order()) == direction
            && first(kept.nullOrder()) == nulls;
  }

  /** Returns whether rows are sent to one reducer to be sorted, and for nothing else. */
  private static boolean isOrderOfAllRows(ReduceSinkDesc sent) {
    boolean isDivided = sent.getPartitionCols() != null && !sent.getPartitionCols().isEmpty();
    return sent.getNumReducers() == 1
        && !isDivided
        && !sent.isMapGroupBy()
        && !sent.isPTFReduceSink()
        && !countsDistinct(sent);
  }

  private static boolean countsDistinct(ReduceSinkDesc sent) {
    List<List<Integer>> columns = sent.getDistinctColumnIndices();
    return columns != null && !columns.stream().allMatch(List::isEmpty);
  }

  private static char first(String order) {
    return order == null || order.isEmpty() ? ' ' : order.charAt(0);
  }
}
