package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.MetadataRequest;
import io.pyhudi.hive.protocol.MetadataResponse;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.PruningService;
import io.pyhudi.hive.protocol.ServiceInfo;
import io.pyhudi.hive.protocol.pruningConstants;
import java.net.InetSocketAddress;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.server.ServerContext;
import org.apache.thrift.server.TServerEventHandler;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/** A real Thrift server with the generated processor and answers of a test's choice. */
public final class TestService implements AutoCloseable {
  private final TThreadPoolServer server;
  private final ServiceAddress address;
  private final Thread thread;
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger announcements = new AtomicInteger();
  private volatile boolean isOlder;
  private final Queue<TTransport> open = new ConcurrentLinkedQueue<>();

  private TestService(int port, Function<PruneRequest, PruneResponse> answer) throws Exception {
    TServerSocket socket = new TServerSocket(new InetSocketAddress("127.0.0.1", port));
    address = new ServiceAddress("127.0.0.1", socket.getServerSocket().getLocalPort());
    server =
        new TThreadPoolServer(
            new TThreadPoolServer.Args(socket)
                .processor(new PruningService.Processor<>(new Handler(answer)))
                .transportFactory(new TFramedTransport.Factory())
                .protocolFactory(new TBinaryProtocol.Factory(true, true))
                .stopTimeoutVal(10));
    server.setServerEventHandler(new Counter());
    thread = new Thread(server::serve, "test-service");
    thread.setDaemon(true);
    thread.start();
  }

  public static TestService answering(Function<PruneRequest, PruneResponse> answer)
      throws Exception {
    return new TestService(0, answer);
  }

  static TestService answering(int port, Function<PruneRequest, PruneResponse> answer)
      throws Exception {
    return new TestService(port, answer);
  }

  static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  public ServiceAddress address() {
    return address;
  }

  int connections() {
    return connections.get();
  }

  @Override
  public void close() {
    server.setShouldStop(true);
    server.stop();
    open.forEach(TTransport::close);
    try {
      thread.join(10_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Refuses announcements from now on as a service of an older version does. */
  void forgetAnnouncements() {
    isOlder = true;
  }

  /** Returns how many announcements were sent. */
  int announcements() {
    return announcements.get();
  }

  private final class Handler implements PruningService.Iface {
    private final Function<PruneRequest, PruneResponse> answer;

    Handler(Function<PruneRequest, PruneResponse> answer) {
      this.answer = answer;
    }

    @Override
    public PruneResponse prune(PruneRequest request) {
      return answer.apply(request);
    }

    @Override
    public PruneStatus announce(PruneRequest request) throws TException {
      announcements.incrementAndGet();
      if (isOlder) {
        throw new TApplicationException(TApplicationException.UNKNOWN_METHOD, "announce");
      }
      return PruneStatus.OK;
    }

    @Override
    public MetadataResponse metadata(MetadataRequest request) {
      return new MetadataResponse(
              pruningConstants.PROTOCOL_VERSION,
              request.getRequestId(),
              request.getBasePath(),
              PruneStatus.FAILED)
          .setMessage("there are no rows");
    }

    @Override
    public ServiceInfo info() {
      return new ServiceInfo(pruningConstants.PROTOCOL_VERSION, "test");
    }
  }

  private final class Counter implements TServerEventHandler {
    @Override
    public void preServe() {
      // Nothing to prepare.
    }

    @Override
    public ServerContext createContext(TProtocol input, TProtocol output) {
      connections.incrementAndGet();
      open.add(input.getTransport());
      return null;
    }

    @Override
    public void deleteContext(ServerContext context, TProtocol input, TProtocol output) {
      // Nothing to release.
    }

    @Override
    public void processContext(ServerContext context, TTransport input, TTransport output) {
      // Nothing to do for each call.
    }
  }
}
