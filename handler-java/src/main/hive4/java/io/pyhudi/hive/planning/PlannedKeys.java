package io.pyhudi.hive.planning;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.predicate.DynamicPruning;
import io.pyhudi.hive.predicate.NullKeys;
import io.pyhudi.hive.table.HiveZone;
import io.pyhudi.hive.table.PlannedState;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.exec.FilterOperator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.UDFArgumentException;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDescUtils;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Restricts a scan by the keys of a small table while the query is planned.
 *
 * <p>The condition {@code column IN (keys)} is then part of the plan: Hive estimates by it how many
 * rows a join has, splits wait for nothing, EXPLAIN shows the files, and the small side of a map
 * join, which Hive restricts by no keys, is restricted, too. The keys are read from the other table
 * by Hive's own evaluators, and the query reads that table in the state that they come from ({@link
 * PlannedState}), so the rows are those of any other plan.
 */
public final class PlannedKeys {
  private static final Logger LOG = LoggerFactory.getLogger(PlannedKeys.class);

  /** Each of them is an operand in the plan. */
  private static final int MOST_KEYS = 1_000;

  private static final long MOST_ROWS = 200_000;
  private static final long MOST_BYTES = 64L << 20;

  /** Of the size of the table that is restricted. */
  private static final double MOST_SHARE = 0.25;

  private static final int MOST_READ = 64;

  /** Hive keeps the operators of a prepared query, and plans them again for each execution. */
  private static final Pattern KEPT_PLAN =
      Pattern.compile("\\b(prepare|execute)\\b", Pattern.CASE_INSENSITIVE);

  /** By query and source: a query often joins the same part of a dimension to several facts. */
  private static final Map<List<Object>, Set<Object>> READ =
      Collections.synchronizedMap(
          new LinkedHashMap<List<Object>, Set<Object>>() {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<List<Object>, Set<Object>> eldest) {
              return size() > MOST_READ;
            }
          });

  private final HiveConf query;
  private final double mostBytes;

  /** Of joins in a circle, one has the keys of all rows. */
  private final List<ExprNodeDesc> tried = new ArrayList<>();

  private PlannedKeys(HiveConf query, double mostBytes) {
    this.query = query;
    this.mostBytes = mostBytes;
  }

  /**
   * Restricts the scan by the keys that its condition stands for, if they are few and come from a
   * small table. Returns whether there are no other keys to wait for; nothing is changed if they
   * are not known.
   *
   * @param condition that {@link DynamicPruning#mayRestrict} accepts, as Hive has it
   */
  public static boolean restrict(Table table, ExprNodeDesc condition) {
    Hive hive = Hive.getThreadLocal();
    if (hive == null
        || isPlanKept(hive.getConf().getQueryString())
        // EXPLAIN would show keys of rows that the user must not see.
        || StatesOfQuery.isMasked()) {
      return false;
    }
    HiveConf query = hive.getConf();
    if (!HiveZone.isOfTasks(query)) {
      // Keys are read here: tasks may show another time for an instant, and so find other rows.
      return false;
    }
    if (isSmall(new QueriedTable(table, query))) {
      // Hive may remove the condition before it asks for those by the keys of this table.
      DynamicPruning.visitPlan(condition, (other, ofOther) -> restrict(other, ofOther, query));
    }
    return restrict(table, condition, query);
  }

  private static boolean restrict(Table table, ExprNodeDesc condition, HiveConf query) {
    QueriedTable restricted = new QueriedTable(table, query);
    return restricted.isRead()
        && restricted.settings().plannedJoins()
        && restricted.mayBePrunedBy(condition)
        && new PlannedKeys(query, restricted.rows().bytes() * MOST_SHARE)
            .restrict(table, condition, KeyScan.of(condition));
  }

  private boolean restrict(Table table, ExprNodeDesc condition, KeyScan source) {
    tried.add(condition);
    if (source == null || NullKeys.mayEqualNull(condition) || !isSmall(source.table())) {
      return false;
    }
    restrictSource(source);
    // The filter of the source may be another one now.
    return addKeys(table, condition, KeyScan.of(condition)) && !source.isJoined();
  }

  /** Restricts a small table by the keys of others, even if that excludes none of its files. */
  private void restrictSource(KeyScan source) {
    Table table = source.table();
    if (!new QueriedTable(table, query).settings().plannedJoins()) {
      return;
    }
    for (ExprNodeDesc condition : source.byKeys()) {
      if (tried.stream().noneMatch(before -> before == condition)
          && DynamicPruning.mayRestrict(table, condition)) {
        restrict(table, condition, KeyScan.of(condition));
      }
    }
  }

  /** Returns whether the filter of the scan has the keys. */
  private boolean addKeys(Table table, ExprNodeDesc condition, KeyScan source) {
    FilterOperator filter = DynamicPruning.filterOf(table, condition);
    // Where the condition is all of a filter, Hive replaces this.
    if (!source.isFiltered() || !ExprNodeDescUtils.isAnd(filter.getConf().getPredicate())) {
      return false;
    }
    try {
      Set<Object> keys = keys(source);
      if (keys.isEmpty()) {
        return false;
      }
      if (add(filter, among(condition.getChildren().get(0), keys))) {
        LOG.info(
            "{} is restricted by {} keys of {}",
            table.getFullyQualifiedName(),
            keys.size(),
            source.table().getFullyQualifiedName());
      }
      return true;
    } catch (Exception | LinkageError e) {
      LOG.warn(
          "{}: the keys of a join cannot be read while it is planned, splits wait for them",
          source.table().getFullyQualifiedName(),
          e);
      return false;
    }
  }

  /** Returns an empty set if the keys are too many, too slow to read, or may be others later. */
  private Set<Object> keys(KeyScan source) throws IOException, HiveException {
    if (!PlannedState.keep(query, source.table().getPath())) {
      return Collections.emptySet();
    }
    List<Object> question = Arrays.asList(HiveConf.getQueryId(query), source.text());
    Set<Object> keys = READ.get(question);
    if (keys == null) {
      keys = source.read(query, MOST_ROWS, MOST_KEYS);
      READ.put(question, keys);
    }
    return keys;
  }

  /**
   * Adds a condition to a filter, and to what the scan before it pushes down. Returns whether it
   * was not there yet: that of a source was added with the first table that the source restricts.
   */
  private static boolean add(FilterOperator filter, ExprNodeGenericFuncDesc condition) {
    List<ExprNodeDesc> conditions = filter.getConf().getPredicate().getChildren();
    if (conditions.stream().anyMatch(condition::isSame)) {
      return false;
    }
    TableScanDesc scan = ((TableScanOperator) filter.getParentOperators().get(0)).getConf();
    ExprNodeGenericFuncDesc pushed = (ExprNodeGenericFuncDesc) condition.clone();
    scan.setFilterExpr(
        scan.getFilterExpr() == null
            ? pushed
            : ExprNodeDescUtils.and(scan.getFilterExpr(), pushed));
    conditions.add(condition);
    return true;
  }

  /** Returns whether a later query may run what this one's plan is made of. */
  static boolean isPlanKept(String query) {
    return query == null || KEPT_PLAN.matcher(query).find();
  }

  private static ExprNodeGenericFuncDesc among(ExprNodeDesc column, Set<Object> keys)
      throws UDFArgumentException {
    List<ExprNodeDesc> operands = new ArrayList<>();
    operands.add(column.clone());
    for (Object key : keys) {
      operands.add(new ExprNodeConstantDesc(column.getTypeInfo(), key));
    }
    return ExprNodeGenericFuncDesc.newInstance(new GenericUDFIn(), operands);
  }

  /** Returns whether a table is small, also beside the one that is restricted in the end. */
  private boolean isSmall(Table source) {
    QueriedTable read = new QueriedTable(source, query);
    return isSmall(read) && read.rows().bytes() <= mostBytes;
  }

  /** Returns whether the newest state of a table of ours is read, which is known to be small. */
  private static boolean isSmall(QueriedTable read) {
    if (!read.isRead()) {
      return false;
    }
    PruningSettings settings = read.settings();
    if (!settings.asOf().isEmpty() || settings.consume().isIncremental()) {
      return false;
    }
    TableRows rows = read.rows();
    return rows.isKnown() && rows.rows() <= MOST_ROWS && rows.bytes() <= MOST_BYTES;
  }
}
