package io.pyhudi.connector;

import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import io.pyhudi.hive.client.ServiceOrder;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** How a catalog reaches the pruning services: its properties that begin with {@code pyhudi.}. */
public final class ServiceSettings {
  private static final String PREFIX = "pyhudi.";
  private static final String ADDRESSES = "pyhudi.service-addresses";
  private static final String TIMEOUT = "pyhudi.timeout-ms";
  private static final String AUTHORITIES = "pyhudi.tls-ca";
  private static final String TOKEN = "pyhudi.token-file";
  private static final int MAX_RESPONSE_BYTES = 64 << 20;
  private static final long BREAKER_MILLIS = 5_000;

  private final List<ServiceAddress> addresses;
  private final Credentials credentials;
  private final PruningClient.Limits limits;

  private ServiceSettings(
      List<ServiceAddress> addresses, Credentials credentials, PruningClient.Limits limits) {
    this.addresses = addresses;
    this.credentials = credentials;
    this.limits = limits;
  }

  /**
   * Takes the service's properties out of those of a catalog.
   *
   * @param catalog properties; those of the service are removed
   * @throws IllegalArgumentException if one is unknown or invalid
   */
  public static ServiceSettings takenFrom(Map<String, String> catalog) {
    Map<String, String> own = new HashMap<>(catalog);
    own.keySet().removeIf(name -> !name.startsWith(PREFIX));
    catalog.keySet().removeAll(own.keySet());
    String addresses = value(own, ADDRESSES, "127.0.0.1:9099");
    List<ServiceAddress> parsed = ServiceAddress.parseList(addresses);
    if (parsed.isEmpty()) {
      throw new IllegalArgumentException(
          ADDRESSES + "=" + addresses + ": expected host:port, separated by commas");
    }
    Credentials credentials =
        new Credentials(value(own, AUTHORITIES, ""), "", "", value(own, TOKEN, ""));
    long timeout = Long.parseLong(value(own, TIMEOUT, "2000"));
    if (!own.isEmpty()) {
      throw new IllegalArgumentException("unknown properties of the catalog: " + own.keySet());
    }
    return new ServiceSettings(
        parsed,
        credentials,
        new PruningClient.Limits(timeout, MAX_RESPONSE_BYTES, BREAKER_MILLIS, TIMEOUT));
  }

  private static String value(Map<String, String> properties, String name, String byDefault) {
    String value = properties.remove(name);
    return value == null ? byDefault : value.trim();
  }

  /**
   * Returns the answer of the first service that gives one.
   *
   * @throws PruningException if there is none
   */
  public PruneResponse ask(PruneRequest request) throws PruningException {
    return PruningClient.shared()
        .prune(
            request, ServiceOrder.TABLE.of(addresses, request.getBasePath()), credentials, limits);
  }
}
