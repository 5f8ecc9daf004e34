package io.pyhudi.hive.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/** The host and port of a pruning service. */
public final class ServiceAddress {
  private static final Pattern LOOPBACK = Pattern.compile("127(\\.\\d{1,3}){3}");

  private final String host;
  private final int port;

  public ServiceAddress(String host, int port) {
    this.host = host;
    this.port = port;
  }

  /** Parses "host:port, [::1]:port, ...". Parts that are not an address are skipped. */
  public static List<ServiceAddress> parseList(String text) {
    List<ServiceAddress> addresses = new ArrayList<>();
    for (String part : text.split(",")) {
      String address = part.trim();
      int colon = address.lastIndexOf(':');
      String host = colon < 0 ? "" : address.substring(0, colon);
      if (host.startsWith("[") && host.endsWith("]")) {
        host = host.substring(1, host.length() - 1);
      }
      int port = portOf(address.substring(colon + 1));
      if (!host.isEmpty() && port > 0) {
        addresses.add(new ServiceAddress(host, port));
      }
    }
    return Collections.unmodifiableList(addresses);
  }

  private static int portOf(String text) {
    try {
      int port = Integer.parseInt(text);
      return port <= 65535 ? port : -1;
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  public String host() {
    return host;
  }

  public int port() {
    return port;
  }

  /** Returns whether the address names the host of whoever calls it, wherever that is. */
  public boolean isLoopback() {
    return host.equalsIgnoreCase("localhost")
        || host.equals("::1")
        || host.equals("0:0:0:0:0:0:0:1")
        || LOOPBACK.matcher(host).matches();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ServiceAddress
        && ((ServiceAddress) other).host.equals(host)
        && ((ServiceAddress) other).port == port;
  }

  @Override
  public int hashCode() {
    return Objects.hash(host, port);
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
