package io.pyhudi.hive.predicate;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.version.AsOfClause;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;

/** Finds the state of a table that the query itself names for a scan of some locations. */
public final class ScanTime {
  private ScanTime() {}

  /**
   * Returns the state as {@code hudi.as.of} would name it; empty if the query names none.
   *
   * <p>The configuration of a MapReduce job may hold that of another scan, so the plan decides.
   *
   * @throws IOException if one job reads the locations in several states: Hive would give the rows
   *     of each split to all scans
   */
  public static String of(JobConf job, List<Path> locations) throws IOException {
    List<Operator<? extends OperatorDesc>> scans = SingleScan.all(job, locations);
    if (scans.isEmpty()) {
      return AsOfClause.of(job);
    }
    Set<String> states = new HashSet<>();
    String clause = "";
    for (Operator<? extends OperatorDesc> scan : scans) {
      TableScanDesc described =
          SingleScan.isScan(scan) ? ((TableScanOperator) scan).getConf() : null;
      clause = described == null ? "" : AsOfClause.of(described, job);
      states.add(stateKey(described, clause));
    }
    if (states.size() > 1) {
      throw new IOException(
          locations.get(0)
              + ": one MapReduce job cannot read several states of a table; use Tez, or a map join");
    }
    return clause;
  }

  /** Two tables of one location can ask for two states by their properties. */
  private static String stateKey(TableScanDesc scan, String clause) {
    Table table = scan == null ? null : scan.getTableMetadata();
    return table == null
        ? clause
        : PruningSettings.ofTable(table.getMetadata()).asOf(clause).stateKey();
  }
}
