package io.pyhudi.presto;

import com.facebook.presto.hudi.HudiTableLayoutHandle;
import com.facebook.presto.spi.ConnectorSession;
import com.facebook.presto.spi.ConnectorSplitSource;
import com.facebook.presto.spi.ConnectorTableLayoutHandle;
import com.facebook.presto.spi.connector.ConnectorSplitManager;
import com.facebook.presto.spi.connector.ConnectorTransactionHandle;
import com.facebook.presto.spi.session.PropertyMetadata;

/** Lists the splits that the connector lists, without those that the service excludes. */
final class PruningSplitManager implements ConnectorSplitManager {
  static final PropertyMetadata<Boolean> ENABLED =
      PropertyMetadata.booleanProperty(
          "pruning_enabled", "Leave out files that cannot have a matching row", true, false);

  private final ConnectorSplitManager hudi;
  private final SplitPruner pruner;

  PruningSplitManager(ConnectorSplitManager hudi, SplitPruner pruner) {
    this.hudi = hudi;
    this.pruner = pruner;
  }

  @Override
  public ConnectorSplitSource getSplits(
      ConnectorTransactionHandle transaction,
      ConnectorSession session,
      ConnectorTableLayoutHandle layout,
      SplitSchedulingContext context) {
    ConnectorSplitSource listed = hudi.getSplits(transaction, session, layout, context);
    if (!session.getProperty(ENABLED.getName(), Boolean.class)) {
      return listed;
    }
    HudiTableLayoutHandle table = (HudiTableLayoutHandle) layout;
    return new PrunedSplits(listed, splits -> pruner.keep(session, table, splits));
  }
}
