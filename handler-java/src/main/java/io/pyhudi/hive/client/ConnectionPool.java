package io.pyhudi.hive.client;

import java.util.Deque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;

/** Idle connections, a few for each address. */
final class ConnectionPool {
  private static final int MAX_IDLE = 8;

  private final ConcurrentHashMap<ServiceAddress, Deque<ServiceConnection>> idle =
      new ConcurrentHashMap<>();

  /** Takes an idle connection with these credentials and this limit, or returns null. */
  ServiceConnection take(ServiceAddress address, Credentials credentials, int maxResponseBytes) {
    Deque<ServiceConnection> connections = idle.get(address);
    ServiceConnection connection = connections == null ? null : connections.pollFirst();
    if (connection != null && !connection.fits(credentials, maxResponseBytes)) {
      connection.close();
      return null;
    }
    return connection;
  }

  void give(ServiceAddress address, ServiceConnection connection) {
    Deque<ServiceConnection> connections =
        idle.computeIfAbsent(address, key -> new ConcurrentLinkedDeque<>());
    if (connections.size() < MAX_IDLE) {
      connections.addFirst(connection);
    } else {
      connection.close();
    }
  }
}
