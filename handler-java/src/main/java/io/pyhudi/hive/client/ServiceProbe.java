package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.ServiceInfo;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TException;

/** Asks one service who it is, for people who look for a fault: no pool, no circuit breaker. */
public final class ServiceProbe {
  private static final int MAX_RESPONSE_BYTES = 1 << 20;

  private ServiceProbe() {}

  /** Its address with its version and protocol, or with the problem. */
  public static Map<String, Object> ask(
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
