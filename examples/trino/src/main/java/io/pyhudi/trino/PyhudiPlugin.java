package io.pyhudi.trino;

import io.trino.plugin.hive.HiveConnectorFactory;
import io.trino.spi.Plugin;
import io.trino.spi.connector.ConnectorFactory;
import java.util.List;

/** Adds the connector "pyhudi": Trino's connector for Hive, which reads a Hudi table's files. */
public final class PyhudiPlugin implements Plugin {
  @Override
  public Iterable<ConnectorFactory> getConnectorFactories() {
    return List.of(new HudiFilesConnectorFactory(new HiveConnectorFactory()));
  }
}
