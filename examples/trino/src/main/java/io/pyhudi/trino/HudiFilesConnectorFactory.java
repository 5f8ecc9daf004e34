package io.pyhudi.trino;

import io.pyhudi.connector.Replaced;
import io.pyhudi.connector.ServiceSettings;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorContext;
import io.trino.spi.connector.ConnectorFactory;
import io.trino.spi.connector.ConnectorSplitManager;
import io.trino.spi.session.PropertyMetadata;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Creates Trino's connector for Hive, and replaces the part that lists a table's splits. */
final class HudiFilesConnectorFactory implements ConnectorFactory {
  private final ConnectorFactory hive;

  HudiFilesConnectorFactory(ConnectorFactory hive) {
    this.hive = hive;
  }

  @Override
  public String getName() {
    return "pyhudi";
  }

  @Override
  public Connector create(String catalog, Map<String, String> config, ConnectorContext context) {
    Map<String, String> properties = new HashMap<>(config);
    ServiceSettings service = ServiceSettings.takenFrom(properties);
    Connector connector = hive.create(catalog, properties, context);
    ConnectorSplitManager splits =
        new HudiFilesSplitManager(connector, new KeptFilesQuery(service));
    List<PropertyMetadata<?>> session = new ArrayList<>(connector.getSessionProperties());
    session.add(HudiFilesSplitManager.ENABLED);
    Map<String, Object> replaced = new HashMap<>();
    replaced.put("getSplitManager", splits);
    replaced.put("getSessionProperties", session);
    return Replaced.in(connector, Connector.class, replaced);
  }
}
