package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruningService;
import io.pyhudi.hive.protocol.ServiceInfo;
import java.io.Closeable;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/** One connection: framed transport, strict binary protocol. Used by one thread at a time. */
final class ServiceConnection implements Closeable {
  private final TSocket socket;
  private final PruningService.Client client;
  private final int maxResponseBytes;

  /** Prepares a connection; {@link #open} connects. */
  ServiceConnection(ServiceAddress address, int timeoutMillis, int maxResponseBytes)
      throws TTransportException {
    TConfiguration limits =
        new TConfiguration(
            maxResponseBytes, maxResponseBytes, TConfiguration.DEFAULT_RECURSION_DEPTH);
    this.maxResponseBytes = maxResponseBytes;
    socket = new TSocket(limits, address.host(), address.port(), timeoutMillis, timeoutMillis);
    client =
        new PruningService.Client(
            new TBinaryProtocol(new TFramedTransport(socket, maxResponseBytes), true, true));
  }

  void open() throws TTransportException {
    socket.open();
  }

  boolean fits(int responseBytes) {
    return responseBytes == maxResponseBytes;
  }

  /**
   * @param timeoutMillis the time between two packets; the caller limits the whole call
   */
  PruneResponse prune(PruneRequest request, int timeoutMillis) throws TException {
    socket.setSocketTimeout(timeoutMillis);
    return client.prune(request);
  }

  /**
   * @param timeoutMillis as for {@link #prune}
   */
  ServiceInfo info(int timeoutMillis) throws TException {
    socket.setSocketTimeout(timeoutMillis);
    return client.info();
  }

  @Override
  public void close() {
    socket.close();
  }
}
