package io.pyhudi.hive;

import io.pyhudi.hive.planning.PlannedScans;
import io.pyhudi.hive.scan.ExplainedScan;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.ExplainTask;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.hooks.WriteEntity;
import org.apache.hadoop.hive.ql.hooks.WriteEntity.WriteType;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.parse.AbstractSemanticAnalyzerHook;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContext;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.plan.ExplainWork;
import org.apache.hadoop.hive.ql.plan.FetchWork;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.PartitionDesc;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shows pruning in EXPLAIN for tables without the storage handler that one of the input formats
 * reads, as {@code hive.semantic.analyzer.hook}. Hive offers an input format nothing for EXPLAIN.
 * It changes no plan. To queries it adds {@link AdoptedTables}, also where Hive does not vectorise.
 * Writes to such tables are refused here, so that {@link HudiOutputFormat} need not fail a job.
 */
public final class HudiExplainHook extends AbstractSemanticAnalyzerHook {
  private static final Logger LOG = LoggerFactory.getLogger(HudiExplainHook.class);
  private static final Set<WriteType> WRITES =
      EnumSet.of(WriteType.INSERT, WriteType.INSERT_OVERWRITE);

  @Override
  public void postAnalyze(HiveSemanticAnalyzerHookContext context, List<Task<?>> tasks)
      throws SemanticException {
    for (WriteEntity written : context.getOutputs()) {
      refuseWrite(written);
    }
    AdoptedTables.add();
    try {
      for (Task<?> task : tasks) {
        if (task instanceof ExplainTask) {
          describe((ExplainWork) task.getWork(), context.getConf());
        }
      }
    } catch (Exception | LinkageError e) {
      LOG.warn("EXPLAIN cannot tell what would be pruned", e);
    }
  }

  private static void refuseWrite(WriteEntity written) throws SemanticException {
    Table table = written.getTable();
    if (table != null
        && WRITES.contains(written.getWriteType())
        && HudiOutputFormat.class.getName().equals(table.getSd().getOutputFormat())) {
      String name = table.getFullyQualifiedName();
      throw new SemanticException(name + ": " + HudiOutputFormat.READ_ONLY);
    }
  }

  private static void describe(ExplainWork work, Configuration conf) {
    PlannedScans.fetches(work).forEach(fetch -> describe(fetch, conf));
    for (MapWork map : PlannedScans.maps(work)) {
      map.getAliasToWork().forEach((alias, scan) -> describe(map, alias, scan, conf));
    }
  }

  private static void describe(FetchWork work, Configuration conf) {
    if (!(work.getSource() instanceof TableScanOperator)) {
      return;
    }
    Map<Path, PartitionDesc> scanned = new HashMap<>();
    if (work.isPartitioned()) {
      List<Path> directories = work.getPartDir();
      for (int i = 0; i < directories.size(); i++) {
        scanned.put(directories.get(i), work.getPartDesc().get(i));
      }
    } else if (work.getTblDir() != null) {
      scanned.put(work.getTblDir(), new PartitionDesc(work.getTblDesc(), null));
    }
    ExplainedScan.describe((TableScanOperator) work.getSource(), scanned, conf);
  }

  private static void describe(
      MapWork work, String alias, Operator<? extends OperatorDesc> scan, Configuration conf) {
    if (!(scan instanceof TableScanOperator)) {
      return;
    }
    Map<Path, PartitionDesc> scanned = new HashMap<>();
    work.getPathToAliases()
        .forEach(
            (path, aliases) -> {
              if (aliases.contains(alias)) {
                scanned.put(path, work.getPathToPartitionInfo().get(path));
              }
            });
    ExplainedScan.describe((TableScanOperator) scan, scanned, conf);
  }
}
