package io.pyhudi.spark.statements;

import io.pyhudi.spark.service.PythonInterpreter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.QueryExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.ClientServer;

/**
 * A process of Python that runs one statement in this JVM's session: it connects by Py4J, as a
 * driver in Python does. Its jobs are those of the statement's thread (their group, their pool),
 * and end with the statement. If this JVM ends, its input ends, and so does the process.
 */
final class PythonProcess {
  private static final Logger LOG = LoggerFactory.getLogger(PythonProcess.class);
  private static final String MODULE = "pyhudi_expr.spark.statements";
  private static final int LAST_LINES = 12;
  private static final int SECRET_BYTES = 32;

  private final PythonInterpreter interpreter;
  private final Process process;
  private final Deque<String> lastLines = new ArrayDeque<>();

  private PythonProcess(PythonInterpreter interpreter, Process process) {
    this.interpreter = interpreter;
    this.process = process;
  }

  /**
   * Runs a statement to its end. Throws Spark's exceptions: the statement failed, or was stopped.
   */
  static void run(StatementRun run) {
    SparkContext context = run.session().sparkContext();
    String secret = secret();
    ClientServer server =
        new ClientServer.ClientServerBuilder(run)
            .authToken(secret)
            .javaPort(0)
            .javaAddress(InetAddress.getLoopbackAddress())
            .build();
    String tag = "pyhudi-statement-" + UUID.randomUUID();
    // The server's threads inherit this thread's properties: the jobs' group, and the tag.
    context.addJobTag(tag);
    try {
      server.startServer();
    } finally {
      context.removeJobTag(tag);
    }
    try {
      int port = server.getJavaServer().getListeningPort();
      start(run.session(), port, secret).finish(run);
    } finally {
      context.cancelJobsWithTag(tag); // none is left but after an error
      server.shutdown();
    }
  }

  private static PythonProcess start(SparkSession session, int port, String secret) {
    PythonInterpreter interpreter = PythonInterpreter.of(session);
    ProcessBuilder builder = new ProcessBuilder(interpreter.program(), "-m", MODULE);
    Map<String, String> environment = builder.environment();
    environment.putAll(interpreter.environment());
    environment.put("PYSPARK_GATEWAY_PORT", Integer.toString(port));
    environment.put("PYSPARK_GATEWAY_SECRET", secret);
    environment.put("PYSPARK_PIN_THREAD", "true");
    environment.put("PYTHONUNBUFFERED", "YES");
    try {
      return new PythonProcess(interpreter, builder.redirectErrorStream(true).start());
    } catch (IOException error) {
      throw StatementErrors.unchecked(
          new QueryExecutionException(
              interpreter.program()
                  + " does not start ("
                  + error.getMessage()
                  + "): "
                  + PythonInterpreter.ADVICE,
              error));
    }
  }

  private void finish(StatementRun run) {
    try {
      Thread reader = new Thread(this::readOutput, "pyhudi-statement-output");
      reader.setDaemon(true);
      reader.start();
      int code = process.waitFor();
      reader.join();
      run.checkEnded(ending(code));
    } catch (InterruptedException cancelled) {
      Thread.currentThread().interrupt();
      throw StatementErrors.unchecked(
          new QueryExecutionException("the statement was cancelled", null));
    } finally {
      process.destroyForcibly();
    }
  }

  private void readOutput() {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        LOG.info("{}", line);
        keep(line);
      }
    } catch (IOException closed) {
      LOG.debug("the output of a killed process", closed);
    }
  }

  private synchronized void keep(String line) {
    if (lastLines.size() == LAST_LINES) {
      lastLines.removeFirst();
    }
    lastLines.addLast(line);
  }

  private synchronized String ending(int code) {
    String output = String.join("\n", lastLines);
    String program = interpreter.program();
    if (output.contains("No module named")) {
      String missing = lastLines.getLast();
      return program + " cannot run the statement (" + missing + "): " + PythonInterpreter.ADVICE;
    }
    return program + " ended with code " + code + " before the statement was done:\n" + output;
  }

  private static String secret() {
    byte[] bytes = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(bytes);
    StringBuilder text = new StringBuilder();
    for (byte each : bytes) {
      text.append(String.format("%02x", each));
    }
    return text.toString();
  }
}
