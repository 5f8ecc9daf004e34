package io.pyhudi.spark.service;

import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.ServiceAddress;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pruning service of one application, if its user names none: a Python process beside the
 * driver, which listens on a port of the loopback interface, knows callers by a random token, and
 * ends when the driver does, as its standard input is closed then.
 */
final class OwnService {
  private static final Logger LOG = LoggerFactory.getLogger(OwnService.class);
  private static final String MODULE = "pyhudi_expr.service.running.companion";
  private static final String PYTHON = "spark.pyhudi.python";

  /** Python imports for a second or two; a busy driver needs longer. */
  private static final long START_SECONDS = 30;

  private static final ConcurrentHashMap<String, OwnService> RUNNING = new ConcurrentHashMap<>();

  private final Process process;
  private final Path directory;
  private final Path token;
  private final CompletableFuture<Integer> port;
  private boolean waited;

  private OwnService(Process process, Path directory, Path token, CompletableFuture<Integer> port) {
    this.process = process;
    this.directory = directory;
    this.token = token;
    this.port = port;
  }

  /** Returns the application's service, which it starts if there is none yet. */
  static OwnService of(SparkContext context, PruningConf conf) {
    return RUNNING.computeIfAbsent(context.applicationId(), id -> start(context, id, conf));
  }

  private static OwnService start(SparkContext context, String application, PruningConf conf) {
    try {
      OwnService started = launch(conf);
      context.addSparkListener(
          new SparkListener() {
            @Override
            public void onApplicationEnd(SparkListenerApplicationEnd end) {
              OwnService ended = RUNNING.remove(application);
              if (ended != null) {
                ended.stop();
              }
            }
          });
      Runtime.getRuntime().addShutdownHook(new Thread(started::stop, "pyhudi-service-stop"));
      return started;
    } catch (IOException e) {
      throw new IllegalStateException("the pruning service cannot be started: " + e, e);
    }
  }

  private static OwnService launch(PruningConf conf) throws IOException {
    Path directory = Files.createTempDirectory("pyhudi-spark-");
    Path token =
        Files.createFile(
            directory.resolve("token"),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    String secret = new BigInteger(256, new SecureRandom()).toString(36);
    Files.write(token, secret.getBytes(StandardCharsets.UTF_8));
    List<String> command = Arrays.asList(python(conf), "-m", MODULE, token.toString());
    File log = directory.resolve("log").toFile();
    Process process = new ProcessBuilder(command).redirectError(log).start();
    LOG.info("started a pruning service by {}, its log is {}", command, log);
    CompletableFuture<Integer> port = new CompletableFuture<>();
    Thread reader = new Thread(() -> readPort(process, port), "pyhudi-service-port");
    reader.setDaemon(true);
    reader.start();
    return new OwnService(process, directory, token, port);
  }

  /** The interpreter that has the package: a setting of ours, else the one of PySpark's tasks. */
  private static String python(PruningConf conf) {
    return Stream.of(
            conf.text(PYTHON, ""),
            conf.text("spark.pyspark.driver.python", ""),
            conf.text("spark.pyspark.python", ""),
            Objects.toString(System.getenv("PYSPARK_PYTHON"), ""))
        .filter(name -> !name.isEmpty())
        .findFirst()
        .orElse("python3");
  }

  private static void readPort(Process process, CompletableFuture<Integer> port) {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String line = lines.readLine();
      if (line == null) {
        throw new IOException("it ended at once");
      }
      port.complete(Integer.parseInt(line.trim()));
      while (lines.readLine() != null) {
        // What it prints is read so that it never waits for a reader.
      }
    } catch (IOException | RuntimeException e) {
      port.completeExceptionally(e);
    }
  }

  Credentials credentials() {
    return new Credentials("", "", "", token.toString());
  }

  /** Returns its address, as soon as it listens; only one query waits for that. */
  List<ServiceAddress> addresses() {
    boolean isFirst;
    synchronized (this) {
      isFirst = !waited;
      waited = true;
    }
    try {
      int found = port.get(isFirst ? START_SECONDS : 1, TimeUnit.SECONDS);
      String host = InetAddress.getLoopbackAddress().getHostAddress();
      return Collections.singletonList(new ServiceAddress(host, found));
    } catch (ExecutionException e) {
      throw new IllegalStateException(
          "the pruning service did not start: "
              + lastLine()
              + "; set "
              + PYTHON
              + " to an interpreter with the package pyhudi-expr[service], or "
              + PruningConf.SERVICE
              + " to a running service",
          e.getCause());
    } catch (TimeoutException e) {
      throw new IllegalStateException("the pruning service is still starting", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while the pruning service starts", e);
    }
  }

  private String lastLine() {
    try {
      List<String> lines = Files.readAllLines(directory.resolve("log"), StandardCharsets.UTF_8);
      return lines.isEmpty() ? "no message" : lines.get(lines.size() - 1);
    } catch (IOException e) {
      return "no message";
    }
  }

  private void stop() {
    process.destroy();
    for (String name : Arrays.asList("token", "log")) {
      directory.resolve(name).toFile().delete();
    }
    directory.toFile().delete();
  }
}
