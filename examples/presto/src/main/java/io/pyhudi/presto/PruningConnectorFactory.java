package io.pyhudi.presto;

import com.facebook.presto.spi.ConnectorHandleResolver;
import com.facebook.presto.spi.connector.Connector;
import com.facebook.presto.spi.connector.ConnectorContext;
import com.facebook.presto.spi.connector.ConnectorFactory;
import com.facebook.presto.spi.connector.ConnectorSplitManager;
import com.facebook.presto.spi.session.PropertyMetadata;
import io.pyhudi.connector.Replaced;
import io.pyhudi.connector.ServiceSettings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Creates Presto's connector for Hudi, and replaces the part that lists a table's splits. */
final class PruningConnectorFactory implements ConnectorFactory {
  private final ConnectorFactory hudi;

  PruningConnectorFactory(ConnectorFactory hudi) {
    this.hudi = hudi;
  }

  @Override
  public String getName() {
    return "pyhudi";
  }

  @Override
  public ConnectorHandleResolver getHandleResolver() {
    return hudi.getHandleResolver();
  }

  @Override
  public Connector create(String catalog, Map<String, String> config, ConnectorContext context) {
    Map<String, String> properties = new HashMap<>(config);
    ServiceSettings service = ServiceSettings.takenFrom(properties);
    Connector connector = hudi.create(catalog, properties, context);
    ConnectorSplitManager splits =
        new PruningSplitManager(connector.getSplitManager(), new SplitPruner(service));
    List<PropertyMetadata<?>> session = new ArrayList<>(connector.getSessionProperties());
    session.add(PruningSplitManager.ENABLED);
    Map<String, Object> replaced = new HashMap<>();
    replaced.put("getSplitManager", splits);
    replaced.put("getSessionProperties", session);
    return Replaced.in(connector, Connector.class, replaced);
  }
}
