package io.pyhudi.hive.client;

import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;

/** Something that listens and is no Thrift server: it writes bytes, all at once or slowly. */
final class RawService implements AutoCloseable {
  private final ServerSocket server;
  private final byte[] first;
  private final int zeros;
  private final long pauseMillis;

  private RawService(byte[] first, int zeros, long pauseMillis) throws IOException {
    this.server = new ServerSocket(0);
    this.first = first;
    this.zeros = zeros;
    this.pauseMillis = pauseMillis;
    Thread thread = new Thread(this::serve, "raw-service");
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * @param first written at once
   * @param zeros how many zero bytes follow, each after a pause
   */
  static RawService writing(byte[] first, int zeros, long pauseMillis) throws IOException {
    return new RawService(first, zeros, pauseMillis);
  }

  ServiceAddress address() {
    return new ServiceAddress("127.0.0.1", server.getLocalPort());
  }

  private void serve() {
    while (!server.isClosed()) {
      try (Socket socket = server.accept();
          OutputStream out = socket.getOutputStream()) {
        out.write(first);
        out.flush();
        for (int i = 0; i < zeros; i++) {
          TestService.pause(pauseMillis);
          out.write(0);
          out.flush();
        }
        // Reads the request, so that closing does not reset the connection before the answer.
        socket.setSoTimeout(200);
        while (socket.getInputStream().read() >= 0) {
          continue;
        }
      } catch (IOException e) {
        // The client has gone, or the test is over.
      }
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
