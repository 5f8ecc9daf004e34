package io.pyhudi.truth;

import io.pyhudi.hive.predicate.FilterEncoder;
import io.pyhudi.hive.predicate.HiveSemantics;
import io.pyhudi.hive.predicate.ScanFilter;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import io.pyhudi.shaded.thrift.TException;
import io.pyhudi.shaded.thrift.TSerializer;
import io.pyhudi.shaded.thrift.protocol.TCompactProtocol;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;

/** What the storage handler asks the pruning service for a scan with a predicate. */
final class HandlerFilter {
  private HandlerFilter() {}

  /** A request in Thrift's compact protocol; null: the handler does not ask. */
  static byte[] of(ExprNodeDesc predicate, JobConf job) throws TException {
    if (!(predicate instanceof ExprNodeGenericFuncDesc)) {
      // Hive gives a scan no other.
      return null;
    }
    // As the optimizer leaves it; the compiler's own lists (of IN) cannot be read back.
    ExprNodeGenericFuncDesc copy = (ExprNodeGenericFuncDesc) predicate.clone();
    job.set(TableScanDesc.FILTER_EXPR_CONF_STR, SerializationUtilities.serializeExpression(copy));
    ExprNodeGenericFuncDesc filter = ScanFilter.of(job, Collections.emptyList());
    List<Node> nodes = FilterEncoder.encode(filter, job, ScanFilter.metastoreColumns(job));
    if (nodes.get(nodes.size() - 1).getKind() == NodeKind.UNKNOWN) {
      return null;
    }
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION, "truth", "/table", nodes, TableView.SNAPSHOT);
    request.setSemantics(HiveSemantics.of(job));
    return new TSerializer(new TCompactProtocol.Factory()).serialize(request);
  }
}
