package io.pyhudi.presto;

import com.facebook.presto.spi.ConnectorHandleResolver;
import com.facebook.presto.spi.connector.Connector;
import com.facebook.presto.spi.connector.ConnectorContext;
import com.facebook.presto.spi.connector.ConnectorFactory;
import com.facebook.presto.spi.connector.ConnectorSplitManager;
import com.facebook.presto.spi.session.PropertyMetadata;
import io.pyhudi.connector.ServiceSettings;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
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
    // All other calls are the connector's own, those of other versions of Presto included.
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
