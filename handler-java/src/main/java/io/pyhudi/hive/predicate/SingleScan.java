package io.pyhudi.hive.predicate;

import java.util.ArrayList;
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
import org.apache.hadoop.mapred.JobConf;

/** Finds the scan in a job's plan that reads some locations. */
public final class SingleScan {
  private SingleScan() {}

  /**
   * Returns the scan of the only alias that reads the locations; null if there is no plan or there
   * are several aliases.
   */
  public static TableScanOperator of(JobConf job, List<Path> locations) {
    List<Operator<? extends OperatorDesc>> scans = all(job, locations);
    return scans.size() == 1 && isScan(scans.get(0)) ? (TableScanOperator) scans.get(0) : null;
  }

  /** Returns the first operator of each alias that reads the locations; none without a plan. */
  static List<Operator<? extends OperatorDesc>> all(JobConf job, List<Path> locations) {
    MapWork work = Utilities.getPlanPath(job) == null ? null : Utilities.getMapWork(job);
    List<Operator<? extends OperatorDesc>> scans = new ArrayList<>();
    if (work != null) {
      aliasesOf(work, locations).forEach(alias -> scans.add(work.getAliasToWork().get(alias)));
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
