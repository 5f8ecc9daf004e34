package io.pyhudi.hive.metadata;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.Services;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.MetadataColumn;
import io.pyhudi.hive.protocol.MetadataRequest;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.Semantics;
import io.pyhudi.hive.protocol.TruthValue;
import io.pyhudi.hive.protocol.pruningConstants;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Requests rows of metadata views from the pruning service, which is their only source. */
public final class MetadataRequests {
  private static final Logger LOG = LoggerFactory.getLogger(MetadataRequests.class);

  /** A client of its own: what scans have seen of a service does not keep views from it. */
  private static final PruningClient CLIENT = new PruningClient();

  private MetadataRequests() {}

  /**
   * Returns the rows of a view for which a filter may be TRUE.
   *
   * @param id identifies the request in the logs of both sides
   * @param filter the nodes of the filter, the root last
   * @param semantics what the query's session decides of the filter's meaning
   * @throws IOException if no service gives them
   */
  public static MetadataRows rows(
      MetadataView view,
      String id,
      List<Node> filter,
      Semantics semantics,
      PruningSettings settings)
      throws IOException {
    return send(view, request(view, id, filter).setSemantics(semantics), settings);
  }

  private static MetadataRequest request(MetadataView view, String id, List<Node> filter) {
    return new MetadataRequest(
        pruningConstants.PROTOCOL_VERSION, id, view.basePath().toString(), view.name(), filter);
  }

  private static MetadataRows send(
      MetadataView view, MetadataRequest request, PruningSettings settings) throws IOException {
    PruningClient.Limits limits =
        new PruningClient.Limits(
            settings.metadataTimeoutMillis(),
            settings.maxResponseBytes(),
            settings.breakerMillis());
    try {
      Services services =
          Services.of(settings, request.getBasePath(), settings.metadataTimeoutMillis());
      return MetadataRows.of(
          CLIENT.metadata(request, services.addresses(), services.credentials(), limits));
    } catch (PruningException e) {
      LOG.debug("{}: no rows", view, e);
      throw withoutTrace(
          view
              + ": the pruning service gives no rows, and there is no other source: "
              + e.getMessage()
              + "; start it (pyhudi serve), or look at hudi.pruning.service.addresses");
    }
  }

  /** Engines show users the traces of an exception and of its causes, which say no more here. */
  private static IOException withoutTrace(String message) {
    IOException failure = new IOException(message);
    failure.setStackTrace(new StackTraceElement[0]);
    return failure;
  }

  /** Returns the columns of a view. Throws IOException if no service names them. */
  public static List<FieldSchema> columns(MetadataView view, PruningSettings settings)
      throws IOException {
    String id = UUID.randomUUID().toString();
    MetadataRequest request = request(view, id, constant(TruthValue.NO));
    request.setColumns(Collections.emptyList());
    MetadataRows none = send(view, request, settings);
    List<FieldSchema> columns = new ArrayList<>();
    for (MetadataColumn column : none.columns()) {
      columns.add(new FieldSchema(column.getName(), column.getType(), column.getComment()));
    }
    return columns;
  }

  /** Returns a filter that asks for all rows. */
  public static List<Node> everything() {
    return constant(TruthValue.YES);
  }

  private static List<Node> constant(TruthValue truth) {
    return Collections.singletonList(new Node(NodeKind.CONSTANT).setTruth(truth));
  }
}
