package io.pyhudi.hive.predicate;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.version.AsOfClause;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.mapred.JobConf;

/** Finds the state of a table that a scan of some locations asks for. */
public final class ScanTime {
  private ScanTime() {}

  /**
   * Returns the settings of a scan for the state that the query or its table asks for.
   *
   * <p>Two tables can have one location, and a MapReduce job has the properties of one of them, or
   * what another scan has left. So the plan decides, if there is one.
   *
   * @param settings of the job
   * @throws IOException if one job reads the locations in several states: Hive would give the rows
   *     of each split to all scans
   */
  public static PruningSettings settings(
      JobConf job, List<Path> locations, PruningSettings settings) throws IOException {
    List<Operator<? extends OperatorDesc>> scans = SingleScan.all(job, locations);
    if (scans.isEmpty()) {
      return settings.asOf(AsOfClause.of(job));
    }
    Map<String, PruningSettings> states = new HashMap<>();
    for (Operator<? extends OperatorDesc> scan : scans) {
      PruningSettings ofScan =
          SingleScan.isScan(scan)
              ? settings(((TableScanOperator) scan).getConf(), job, settings)
              : settings;
      states.put(ofScan.stateKey(), ofScan);
    }
    if (states.size() > 1) {
      throw new IOException(
          locations.get(0)
              + ": one MapReduce job cannot read several states of a table; use Tez, or a map join");
    }
    return states.values().iterator().next();
  }

  private static PruningSettings settings(
      TableScanDesc scan, JobConf job, PruningSettings settings) {
    Table table = scan.getTableMetadata();
    // Elsewhere than in HiveServer2, as in Tez, a job has the settings of its only table, and the
    // session is not known.
    PruningSettings ofTable =
        table == null || SessionState.get() == null
            ? settings
            : settings.inStateOf(PruningSettings.ofTable(table.getMetadata()));
    return ofTable.asOf(AsOfClause.of(scan, job));
  }
}
