package io.pyhudi.trino;

import io.pyhudi.connector.ServiceSettings;
import io.trino.spi.connector.Connector;
import io.trino.spi.connector.ConnectorContext;
import io.trino.spi.connector.ConnectorFactory;
import io.trino.spi.connector.ConnectorSplitManager;
import io.trino.spi.session.PropertyMetadata;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
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
    // All other calls are the connector's own, those of other versions of Trino included.
    InvocationHandler calls =
        (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "getSplitManager":
              return splits;
            case "getSessionProperties":
              return session;
            default:
              try {
                return method.invoke(connector, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
          }
        };
    return (Connector)
        Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {Connector.class}, calls);
  }
}
