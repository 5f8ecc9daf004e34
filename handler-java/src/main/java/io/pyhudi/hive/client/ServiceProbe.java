package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.ServiceInfo;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TException;

/**
 * Requests the version of one service, for diagnosis. It uses no connection pool and no circuit
 * breaker.
 */
public final class ServiceProbe {
  private static final int MAX_RESPONSE_BYTES = 1 << 20;

  private ServiceProbe() {}

  /** Returns the service's address with its version and protocol, or with the error. */
  public static Map<String, Object> probe(
      ServiceAddress address, Credentials credentials, int timeoutMillis) {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("address", address.toString());
    long start = System.nanoTime();
    try (ServiceConnection connection =
        new ServiceConnection(address, credentials, MAX_RESPONSE_BYTES)) {
      connection.open(timeoutMillis);
      ServiceInfo info = connection.info(timeoutMillis);
      found.put("version", info.getVersion());
      found.put("protocol", info.getProtocolVersion());
      found.put("millis", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
    } catch (TException | RuntimeException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      found.put("problem", cause.toString());
    }
    return found;
  }
}
