package io.pyhudi.hive.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pruning service of this JVM's own: a Python process beside it, which listens on a port of the
 * loopback interface, knows callers by a random token, and ends when this JVM does, as its standard
 * input is closed then. Its log lines come to this JVM's log. If it dies, it is started again after
 * a pause.
 */
public final class Companion {
  private static final Logger LOG = LoggerFactory.getLogger(Companion.class);
  private static final String MODULE = "pyhudi_expr.service.running.companion";
  private static final String HOST = "127.0.0.1";
  private static final long FIRST_PAUSE_MILLIS = 1_000;
  private static final long LONGEST_PAUSE_MILLIS = 300_000;

  private final List<String> interpreters;
  private final Map<String, String> environment;
  private final String advice;
  private final Path directory;
  private final Path token;

  // Of its states one holds: it starts (both null), it listens, or it does not start.
  private ServiceAddress address;
  private String problem;
  private Process process;
  private boolean isStopped;

  private Companion(
      List<String> interpreters,
      Map<String, String> environment,
      String advice,
      Path directory,
      Path token) {
    this.interpreters = interpreters;
    this.environment = environment;
    this.advice = advice;
    this.directory = directory;
    this.token = token;
  }

  /**
   * Starts a service, and returns at once.
   *
   * @param interpreters programs of Python; the first one that has the package runs it
   * @param environment variables of the process that differ from this JVM's
   * @param advice what to do if none of them has the package
   * @throws IOException if the file of its token cannot be written
   */
  public static Companion start(
      List<String> interpreters, Map<String, String> environment, String advice)
      throws IOException {
    Path directory = Files.createTempDirectory("pyhudi-companion-");
    Path token =
        Files.createFile(
            directory.resolve("token"),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    String secret = new BigInteger(256, new SecureRandom()).toString(36);
    Files.write(token, secret.getBytes(StandardCharsets.UTF_8));
    Companion started = new Companion(interpreters, environment, advice, directory, token);
    Runtime.getRuntime().addShutdownHook(new Thread(started::stop, "pyhudi-companion-stop"));
    daemon(started::supervise, "pyhudi-companion");
    return started;
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Returns the file of the token by which it knows its callers. */
  public Path token() {
    return token;
  }

  /**
   * Returns its address.
   *
   * @param patienceMillis how long to wait for a service that starts
   * @throws PruningException if it does not listen by then
   */
  public synchronized ServiceAddress address(long patienceMillis) throws PruningException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMillis);
    try {
      while (address == null && problem == null && !isStopped) {
        long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (left <= 0) {
          break;
        }
        wait(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PruningException(
          Outcome.UNREACHABLE, "interrupted while the pruning service starts", e);
    }
    if (address == null) {
      throw new PruningException(
          Outcome.UNREACHABLE, problem == null ? "the pruning service is still starting" : problem);
    }
    return address;
  }

  /** Ends the service for good. */
  public synchronized void stop() {
    isStopped = true;
    if (process != null) {
      process.destroy();
    }
    notifyAll();
    token.toFile().delete();
    directory.toFile().delete();
  }

  private void supervise() {
    long pause = FIRST_PAUSE_MILLIS;
    List<String> candidates = interpreters;
    boolean goesOn = true;
    while (goesOn) {
      List<String> failures = new ArrayList<>();
      String listened = null;
      for (String interpreter : candidates) {
        String failure = run(interpreter);
        if (failure == null) {
          listened = interpreter;
          break;
        }
        failures.add(interpreter + ": " + failure);
      }
      if (listened == null) {
        pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
        goesOn = failed(String.join("; ", failures), pause);
      } else {
        candidates = Collections.singletonList(listened);
        pause = FIRST_PAUSE_MILLIS;
        goesOn = ended(pause);
      }
    }
  }

  /** Runs the service until it ends. Returns why it did not listen, or null if it did. */
  private String run(String interpreter) {
    ProcessBuilder builder = new ProcessBuilder(interpreter, "-m", MODULE, token.toString());
    builder.environment().putAll(environment);
    try {
      Process started = launched(builder);
      if (started == null) {
        return "it was stopped";
      }
      LastLine last = new LastLine();
      Thread log = daemon(() -> copyLog(started.getErrorStream(), last), "pyhudi-companion-log");
      boolean hasListened = awaitEnd(started, interpreter);
      int code = started.waitFor();
      log.join();
      if (!hasListened) {
        return last.text.isEmpty() ? "it ended with code " + code : last.text;
      }
      LOG.warn("the pruning service of {} ended with code {}", interpreter, code);
      return null;
    } catch (IOException e) {
      return e.getMessage();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "interrupted";
    }
  }

  private synchronized Process launched(ProcessBuilder builder) throws IOException {
    process = isStopped ? null : builder.start();
    return process;
  }

  /** Reads the port, and whatever it prints after that. Returns whether it listened. */
  private boolean awaitEnd(Process started, String interpreter) throws IOException {
    try (BufferedReader lines = reader(started.getInputStream())) {
      String port = lines.readLine();
      if (port == null) {
        return false;
      }
      listens(new ServiceAddress(HOST, Integer.parseInt(port.trim())), interpreter);
      while (lines.readLine() != null) {
        // It is read so that the process never waits for a reader.
      }
      return true;
    } catch (NumberFormatException e) {
      started.destroy();
      throw new IOException("it printed no port: " + e.getMessage(), e);
    }
  }

  private static void copyLog(InputStream stream, LastLine last) {
    try (BufferedReader lines = reader(stream)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        LOG.info("{}", line);
        last.text = line;
      }
    } catch (IOException e) {
      LOG.debug("the log of a process that was ended", e);
    }
  }

  private static BufferedReader reader(InputStream stream) {
    return new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
  }

  private synchronized void listens(ServiceAddress here, String interpreter) {
    address = here;
    problem = null;
    LOG.info("a pruning service of {} listens at {}", interpreter, here);
    notifyAll();
  }

  /** Waits before the next start. Returns whether there will be one. */
  private synchronized boolean ended(long pauseMillis) {
    address = null;
    return pause(pauseMillis);
  }

  private synchronized boolean failed(String why, long pauseMillis) {
    String found = "the pruning service did not start: " + why + "; " + advice;
    if (!isStopped && !found.equals(problem)) {
      LOG.warn("{}", found);
    }
    problem = found;
    notifyAll();
    return pause(pauseMillis);
  }

  private boolean pause(long millis) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    try {
      for (long left = millis;
          left > 0 && !isStopped;
          left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())) {
        wait(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
    return !isStopped;
  }

  /** The last line of a log, which says why a process ended. */
  private static final class LastLine {
    private volatile String text = "";
  }
}
