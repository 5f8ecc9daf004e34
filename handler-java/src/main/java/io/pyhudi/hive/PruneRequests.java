package io.pyhudi.hive;

import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.pruningConstants;
import io.pyhudi.hive.table.HudiTable;
import java.util.List;
import java.util.function.Consumer;

/** Builds requests to the pruning service and sends them within the limits of the settings. */
public final class PruneRequests {
  private PruneRequests() {}

  /**
   * Builds a request for the files of a table in the state that is read.
   *
   * @param id identifies the request in the logs of both sides
   * @param filter the nodes of the filter, the root last
   */
  public static PruneRequest create(
      HudiTable table, String id, List<Node> filter, PruningSettings settings) {
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION,
            id,
            table.basePath().toString(),
            filter,
            settings.view());
    request.setNewestInstant(table.newestInstant());
    request.setAsOfInstant(table.asOf());
    request.setCatalogProperties(settings.statedBuckets());
    return request;
  }

  /**
   * Sends a request. Throws PruningException if no address answers within the limits.
   *
   * @param late takes an answer that comes later, in another thread
   */
  public static PruneResponse send(
      PruningClient client,
      PruneRequest request,
      PruningSettings settings,
      Consumer<PruneResponse> late)
      throws PruningException {
    Services services = Services.of(settings, request.getBasePath(), 0);
    return client.prune(
        request, services.addresses(), services.credentials(), limits(settings), late);
  }

  static PruningClient.Limits limits(PruningSettings settings) {
    return new PruningClient.Limits(
        settings.timeoutMillis(), settings.maxResponseBytes(), settings.breakerMillis());
  }
}
