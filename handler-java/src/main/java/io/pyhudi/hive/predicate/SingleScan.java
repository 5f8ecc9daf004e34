package io.pyhudi.hive.predicate;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;

/** Finds the scan in a job's plan that reads some locations. */
public final class SingleScan {
  private static final String TASK = "mapreduce.task.attempt.id";
  private static final String OLD_TASK = "mapred.task.id";

  private SingleScan() {}

  /**
   * Returns the scan of the only alias that reads the locations; null if there is no plan or there
   * are several aliases.
   */
  public static TableScanOperator of(JobConf job, List<Path> locations) {
    List<Operator<? extends OperatorDesc>> scans = all(job, locations);
    return scans.size() == 1 && isScan(scans.get(0)) ? (TableScanOperator) scans.get(0) : null;
  }

  /** Returns whether a job reads samples of its tables. */
  public static boolean isSampled(JobConf job) {
    MapWork work = plan(job);
    return work == null
        || work.getNameToSplitSample() != null && !work.getNameToSplitSample().isEmpty();
  }

  /** Returns the first operator of each alias that reads the locations; none without a plan. */
  static List<Operator<? extends OperatorDesc>> all(JobConf job, List<Path> locations) {
    MapWork work = plan(job);
    return work == null ? Collections.emptyList() : all(work, locations);
  }

  private static List<Operator<? extends OperatorDesc>> all(MapWork work, List<Path> locations) {
    List<Operator<? extends OperatorDesc>> scans = new ArrayList<>();
    aliasesOf(work, locations).forEach(alias -> scans.add(work.getAliasToWork().get(alias)));
    return scans;
  }

  private static MapWork plan(JobConf job) {
    return Utilities.getPlanPath(job) == null ? null : Utilities.getMapWork(job);
  }

  /**
   * Returns the scans of all aliases that read the locations, if these splits are made for a
   * MapReduce job of several aliases: Hive passes no filter to it. Empty if they are not, or if an
   * alias begins with something else.
   *
   * <p>A task, too, may read a small table while it has the plan of its job, which says nothing of
   * that table.
   */
  static List<TableScanDesc> ofSharedJob(JobConf job, List<Path> locations) {
    boolean isOfTask = job.get(TASK) != null || job.get(OLD_TASK) != null;
    MapWork work = isOfTask ? null : plan(job);
    if (work == null || work.getAliasToWork().size() < 2) {
      return Collections.emptyList();
    }
    List<TableScanDesc> scans = new ArrayList<>();
    for (Operator<? extends OperatorDesc> operator : all(work, locations)) {
      if (!isScan(operator)) {
        return Collections.emptyList();
      }
      scans.add(((TableScanOperator) operator).getConf());
    }
    return scans;
  }

  static boolean isScan(Operator<? extends OperatorDesc> operator) {
    return operator instanceof TableScanOperator && operator.getConf() != null;
  }

  private static Set<String> aliasesOf(MapWork work, List<Path> locations) {
    Set<String> wanted = new HashSet<>();
    locations.forEach(location -> wanted.add(pathOf(location)));
    Set<String> aliases = new HashSet<>();
    for (Map.Entry<Path, ? extends List<String>> entry : work.getPathToAliases().entrySet()) {
      if (wanted.contains(pathOf(entry.getKey()))) {
        aliases.addAll(entry.getValue());
      }
    }
    return aliases;
  }

  private static String pathOf(Path path) {
    return Path.getPathWithoutSchemeAndAuthority(path).toString();
  }
}
