package io.pyhudi.hive;

import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.table.TableSize;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.common.StatsSetupConst;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.InputEstimator;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.mapred.JobConf;

/**
 * The storage handler for Hive 3.1, which reads an existing Hudi table:
 *
 * <pre>
 * CREATE EXTERNAL TABLE t STORED BY 'io.pyhudi.hive.HudiStorageHandler' LOCATION '/path/of/table'
 * </pre>
 *
 * The filter of each scan is sent to the pruning service; Hive filters the rows again.
 */
public final class HudiStorageHandler extends ReadingStorageHandler implements InputEstimator {

  /**
   * Estimates the input size. Hive 3.1 requests no other statistics; without this method it would
   * count every file below the location.
   */
  @Override
  public Estimation estimate(JobConf job, TableScanOperator scan, long remaining)
      throws HiveException {
    Table table = scan.getConf().getTableMetadata();
    Path location = table.getPath();
    PruningSettings settings =
        PruningSettings.ofTable(table.getMetadata()).asReadBy(table.getSd().getInputFormat());
    MetadataView view = MetadataView.of(location);
    Map<String, String> size =
        view == null ? TableSize.statistics(job, location, settings) : view.sizeEstimate();
    String bytes = size.get(StatsSetupConst.TOTAL_SIZE);
    if (bytes == null) {
      throw new HiveException(location + ": the Hudi table cannot be listed");
    }
    return new Estimation(0, Long.parseLong(bytes));
  }
}
