package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.MetadataRequest;
import io.pyhudi.hive.protocol.MetadataResponse;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.PruningService;
import io.pyhudi.hive.protocol.ServiceInfo;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TIOStreamTransport;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/** One connection: framed transport, strict binary protocol. Used by one thread at a time. */
final class ServiceConnection implements Closeable {
  private final ServiceAddress address;
  private final Credentials credentials;
  private final int maxResponseBytes;
  private final Socket plain = new Socket();
  private Socket socket = plain;
  private PruningService.Client client;

  /** Prepares a connection; {@link #open} connects. */
  ServiceConnection(ServiceAddress address, Credentials credentials, int maxResponseBytes) {
    this.address = address;
    this.credentials = credentials;
    this.maxResponseBytes = maxResponseBytes;
  }

  /**
   * @param timeoutMillis for connecting, and for each packet of a handshake
   */
  void open(int timeoutMillis) throws TTransportException {
    try {
      plain.setTcpNoDelay(true);
      plain.connect(new InetSocketAddress(address.host(), address.port()), timeoutMillis);
      plain.setSoTimeout(timeoutMillis);
      socket = credentials.secure(plain, address);
      TConfiguration limits =
          new TConfiguration(
              maxResponseBytes, maxResponseBytes, TConfiguration.DEFAULT_RECURSION_DEPTH);
      TTransport framed =
          new TFramedTransport(
              new TIOStreamTransport(
                  limits,
                  new BufferedInputStream(socket.getInputStream()),
                  new BufferedOutputStream(socket.getOutputStream())),
              maxResponseBytes);
      byte[] preface = credentials.preface();
      if (preface != null) {
        framed.write(preface);
        framed.flush();
      }
      client = new PruningService.Client(new TBinaryProtocol(framed, true, true));
    } catch (IOException e) {
      close();
      throw new TTransportException(TTransportException.NOT_OPEN, e.toString(), e);
    }
  }

  boolean fits(Credentials other, int responseBytes) {
    return responseBytes == maxResponseBytes && other.equals(credentials);
  }

  /**
   * @param timeoutMillis the time between two packets; the caller limits the whole call
   */
  PruneResponse prune(PruneRequest request, int timeoutMillis) throws TException {
    limit(timeoutMillis);
    return client.prune(request);
  }

  /**
   * @param timeoutMillis as for {@link #prune}
   */
  MetadataResponse metadata(MetadataRequest request, int timeoutMillis) throws TException {
    limit(timeoutMillis);
    return client.metadata(request);
  }

  /**
   * @param timeoutMillis as for {@link #prune}
   */
  PruneStatus announce(PruneRequest request, int timeoutMillis) throws TException {
    limit(timeoutMillis);
    return client.announce(request);
  }

  /**
   * @param timeoutMillis as for {@link #prune}
   */
  ServiceInfo info(int timeoutMillis) throws TException {
    limit(timeoutMillis);
    return client.info();
  }

  private void limit(int timeoutMillis) throws TTransportException {
    try {
      socket.setSoTimeout(timeoutMillis);
    } catch (IOException e) {
      throw new TTransportException(TTransportException.NOT_OPEN, e);
    }
  }

  /** Closes the socket without TLS's closing message, which would wait for a service that hangs. */
  @Override
  public void close() {
    try {
      plain.close();
    } catch (IOException e) {
      // The connection is closed either way.
    }
  }
}
