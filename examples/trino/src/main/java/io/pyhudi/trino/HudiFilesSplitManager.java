package io.pyhudi.trino;

import io.pyhudi.connector.DomainFilter;
import io.trino.plugin.hive.HiveTableHandle;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorMetadata;
import io.trino.spi.connector.ConnectorSession;
import io.trino.spi.connector.ConnectorSplitManager;
import io.trino.spi.connector.ConnectorSplitSource;
import io.trino.spi.connector.ConnectorTableHandle;
import io.trino.spi.connector.ConnectorTransactionHandle;
import io.trino.spi.connector.Constraint;
import io.trino.spi.connector.DynamicFilter;
import io.trino.spi.session.PropertyMetadata;
import java.util.Optional;

/**
 * Lists the splits of those files that the service lists for the query.
 *
 * <p>The connector for Hive knows nothing of Hudi: it would read every version of a file. So the
 * service is asked in any case, and a query fails if it does not answer.
 */
final class HudiFilesSplitManager implements ConnectorSplitManager {
  static final PropertyMetadata<Boolean> ENABLED =
      PropertyMetadata.booleanProperty(
          "pruning_enabled", "Leave out files that cannot have a matching row", true, false);
  private static final String LOCATION = "external_location";

  private final Connector hive;
  private final KeptFilesQuery query;

  HudiFilesSplitManager(Connector hive, KeptFilesQuery query) {
    this.hive = hive;
    this.query = query;
  }

  @Override
  public ConnectorSplitSource getSplits(
      ConnectorTransactionHandle transaction,
      ConnectorSession session,
      ConnectorTableHandle handle,
      DynamicFilter dynamicFilter,
      Constraint constraint) {
    HiveTableHandle table = (HiveTableHandle) handle;
    boolean isEnabled = session.getProperty(ENABLED.getName(), Boolean.class);
    DomainFilter pushed = PushedDomains.filter(table);
    DomainFilter filter = isEnabled ? pushed : new DomainFilter();
    // Before Hive lists the files: then its listing has all files of the service's state.
    KeptFiles kept = query.ask(session, location(transaction, session, table), filter);
    ConnectorSplitSource listed =
        hive.getSplitManager().getSplits(transaction, session, handle, dynamicFilter, constraint);
    boolean listsAll =
        table.getEnforcedConstraint().isAll() && dynamicFilter.getColumnsCovered().isEmpty();
    return new KeptSplits(listed, kept, listsAll);
  }

  private String location(
      ConnectorTransactionHandle transaction, ConnectorSession session, HiveTableHandle table) {
    ConnectorMetadata metadata = hive.getMetadata(session, transaction);
    // Hive describes tables that no column and no row was chosen of.
    ConnectorTableHandle whole =
        metadata.getTableHandle(
            session, table.getSchemaTableName(), Optional.empty(), Optional.empty());
    Object location = metadata.getTableMetadata(session, whole).getProperties().get(LOCATION);
    if (location == null) {
      throw new TrinoException(
          StandardErrorCode.NOT_SUPPORTED,
          table.getSchemaTableName() + " has no " + LOCATION + ": it is no Hudi table");
    }
    return location.toString();
  }
}
