package io.pyhudi.presto;

import com.facebook.presto.hudi.HudiPlugin;
import com.facebook.presto.spi.Plugin;
import com.facebook.presto.spi.connector.ConnectorFactory;
import java.util.ArrayList;
import java.util.List;

/** Adds the connector "pyhudi": Presto's connector for Hudi, with splits left out. */
public final class PyhudiPlugin implements Plugin {
  @Override
  public Iterable<ConnectorFactory> getConnectorFactories() {
    List<ConnectorFactory> pruning = new ArrayList<>();
    new HudiPlugin()
        .getConnectorFactories()
        .forEach(hudi -> pruning.add(new PruningConnectorFactory(hudi)));
    return pruning;
  }
}
