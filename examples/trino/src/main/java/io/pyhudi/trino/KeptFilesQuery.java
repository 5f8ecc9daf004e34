package io.pyhudi.trino;

import io.airlift.log.Logger;
import io.pyhudi.connector.DomainFilter;
import io.pyhudi.connector.ServiceSettings;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import io.trino.plugin.hive.HiveErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.ConnectorSession;
import java.util.concurrent.atomic.AtomicLong;

/** Asks the service which files of a table are to be read. */
final class KeptFilesQuery {
  private static final Logger LOG = Logger.get(KeptFilesQuery.class);

  private final ServiceSettings service;
  private final AtomicLong requests = new AtomicLong();

  KeptFilesQuery(ServiceSettings service) {
    this.service = service;
  }

  /**
   * @throws TrinoException if the service does not answer, or its answer is no list of base files
   */
  KeptFiles ask(ConnectorSession session, String location, DomainFilter filter) {
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION,
            session.getQueryId() + "#" + requests.incrementAndGet(),
            // Trino's own name for files below local.location, which is / then.
            location.replaceFirst("^local:", "file:"),
            filter.nodes(),
            TableView.SNAPSHOT);
    request.setListKept(true);
    // Trino shows stored instants as wall clocks of UTC.
    request.setSemantics(new Semantics().setEngine("trino").setZone("UTC"));
    try {
      PruneResponse answer = service.ask(request);
      KeptFiles kept = KeptFiles.of(location, answer);
      LOG.info("%s %s reads %s files", session.getQueryId(), location, kept.text());
      return kept;
    } catch (PruningException e) {
      String message = location + " cannot be listed, " + e.outcome() + ": " + e.getMessage();
      throw new TrinoException(HiveErrorCode.HIVE_FILESYSTEM_ERROR, message, e);
    }
  }
}
