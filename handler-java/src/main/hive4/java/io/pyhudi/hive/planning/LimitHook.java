package io.pyhudi.hive.planning;

import io.pyhudi.hive.ReadingStorageHandler;
import io.pyhudi.hive.protocol.FirstRows;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.exec.ExplainTask;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;
import org.apache.hadoop.hive.ql.plan.ExplainWork;
import org.apache.hadoop.hive.ql.plan.FetchWork;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.thrift.TException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells fetch tasks and EXPLAIN how many rows a query needs. Hive shows the plan of a job where its
 * splits are made, but of these only the scan.
 *
 * <p>The storage handler adds it to the hooks of each query that reads one of its tables, in the
 * query's own configuration. It changes nothing of a plan but properties of scans.
 */
public final class LimitHook implements ExecuteWithHookContext {
  private static final Logger LOG = LoggerFactory.getLogger(LimitHook.class);

  /** Adds the hook to the query that the current thread compiles, if it compiles one. */
  public static void add() {
    QueryHooks.addBefore(LimitHook.class);
  }

  @Override
  public void run(HookContext context) {
    try {
      Configuration conf = context.getConf();
      if (context.getQueryPlan().getFetchTask() != null) {
        pass(context.getQueryPlan().getFetchTask().getWork(), conf);
      }
      for (Task<?> task : context.getQueryPlan().getRootTasks()) {
        if (task instanceof ExplainTask) {
          pass((ExplainWork) task.getWork(), conf);
        }
      }
    } catch (Exception | LinkageError e) {
      LOG.warn("the query's limit cannot be read, its files are kept", e);
    }
  }

  /** Passes the rows that a fetch task needs to its input format. */
  private static void pass(FetchWork work, Configuration conf) throws TException {
    List<FirstRows> first = rows(work, conf);
    if (!first.isEmpty()) {
      Map<String, String> properties = copyOf(work.getTblDesc().getJobProperties());
      PassedLimit.put(properties, first);
      work.getTblDesc().setJobProperties(properties);
    }
  }

  private static void pass(ExplainWork work, Configuration conf) throws TException {
    for (FetchWork fetch : PlannedScans.fetches(work)) {
      show(fetch.getSource(), rows(fetch, conf));
    }
    for (MapWork map : PlannedScans.maps(work)) {
      boolean isSampled =
          map.getNameToSplitSample() != null && !map.getNameToSplitSample().isEmpty();
      if (map.getAliasToWork().size() == 1 && !isSampled) {
        Operator<? extends OperatorDesc> scan = map.getAliasToWork().values().iterator().next();
        show(scan, rows(scan, conf));
      }
    }
  }

  /** Has EXPLAIN ask for these rows, as the scan will. */
  private static void show(Operator<?> scan, List<FirstRows> first) throws TException {
    if (!first.isEmpty()) {
      Map<String, String> properties = copyOf(((TableScanDesc) scan.getConf()).getOpProps());
      PassedLimit.put(properties, first);
      ((TableScanDesc) scan.getConf()).setOpProps(properties);
    }
  }

  private static List<FirstRows> rows(FetchWork work, Configuration conf) {
    boolean isWholeTable = work.getTblDir() != null && work.getTblDesc() != null;
    return isWholeTable && work.getSplitSample() == null
        ? rows(work.getSource(), conf)
        : Collections.emptyList();
  }

  private static List<FirstRows> rows(Operator<?> operator, Configuration conf) {
    if (!(operator instanceof TableScanOperator)) {
      return Collections.emptyList();
    }
    TableScanOperator scan = (TableScanOperator) operator;
    boolean isOurs =
        scan.getConf().getTableMetadata().getStorageHandler() instanceof ReadingStorageHandler;
    return isOurs
        ? FirstRowsQuery.of(scan, scan.getConf().getFilterExpr(), conf)
        : Collections.emptyList();
  }

  private static Map<String, String> copyOf(Map<String, String> properties) {
    Map<String, String> copy = new LinkedHashMap<>();
    if (properties != null) {
      copy.putAll(properties);
    }
    return copy;
  }
}
