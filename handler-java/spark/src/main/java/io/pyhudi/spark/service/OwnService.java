package io.pyhudi.spark.service;

import io.pyhudi.hive.client.Companion;
import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.sql.SparkSession;

/** The pruning service of one application, if its user names none. */
final class OwnService {
  /** Python imports for a second or two; a busy driver needs longer. */
  private static final long START_MILLIS = 30_000;

  private static final long LATER_MILLIS = 1_000;

  private static final ConcurrentHashMap<String, OwnService> RUNNING = new ConcurrentHashMap<>();

  private final Companion companion;
  private final AtomicBoolean isAwaited = new AtomicBoolean();

  private OwnService(Companion companion) {
    this.companion = companion;
  }

  /** Returns the application's service, which it starts if there is none yet. */
  static OwnService of(SparkSession session) {
    SparkContext context = session.sparkContext();
    return RUNNING.computeIfAbsent(context.applicationId(), id -> start(session, id));
  }

  private static OwnService start(SparkSession session, String application) {
    PythonInterpreter interpreter = PythonInterpreter.of(session);
    Companion companion;
    try {
      companion =
          Companion.start(
              Collections.singletonList(interpreter.program()),
              interpreter.environment(),
              PythonInterpreter.ADVICE + ", or a running service by " + PruningConf.SERVICE);
    } catch (IOException e) {
      throw new IllegalStateException("the pruning service cannot be started: " + e, e);
    }
    session
        .sparkContext()
        .addSparkListener(
            new SparkListener() {
              @Override
              public void onApplicationEnd(SparkListenerApplicationEnd end) {
                RUNNING.remove(application);
                companion.stop();
              }
            });
    return new OwnService(companion);
  }

  Credentials credentials() {
    return new Credentials("", "", "", companion.token().toString());
  }

  /** Returns its address, as soon as it listens; only one query waits long for that. */
  List<ServiceAddress> addresses() throws PruningException {
    boolean isFirst = isAwaited.compareAndSet(false, true);
    return Collections.singletonList(companion.address(isFirst ? START_MILLIS : LATER_MILLIS));
  }
}
