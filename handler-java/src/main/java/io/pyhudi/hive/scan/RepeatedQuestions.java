package io.pyhudi.hive.scan;

import io.pyhudi.hive.PruneRequests;
import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.AnswerCache;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.table.HudiTable;
import java.security.MessageDigest;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the pruning service, or takes the answer that an earlier query got to the same question
 * about the same state of the table: EXPLAIN and the query after it, a dashboard again and again.
 *
 * <p>Why an answer may be used again. It is a proof about files, and each query opens the table
 * itself before it looks for one.
 *
 * <ol>
 *   <li>A kept answer is found by {@link HudiTable#stateDigest()} of the table as <em>this</em>
 *       query has opened it: the table's properties, and each instant of the active timeline with
 *       its action, state and completion time, pending ones included. A commit, a rollback, a
 *       restore, a clean, a compaction, even a request for one, and the archival of an instant make
 *       another digest, so the service is asked again. No name of a newest instant and no time
 *       stands for the state.
 *   <li>In one state the files and their bytes are the same for every query. Hudi never writes a
 *       base file twice under one name. Whoever appends to a log file (table version 6) has
 *       requested an instant before, or rolls one back. What the bytes mean follows from the
 *       properties, the schemas in the commits, and the request, all of which are compared.
 *   <li>A service reads the table at another moment than the query, so its answer may be about a
 *       newer state. Such an answer is used for its own query, as ever, and is not kept: the digest
 *       of the timeline that it names with its list of files must be the query's, or without a list
 *       its instant must be the query's newest.
 *   <li>A kept answer is then treated as a new one. The list of files is used only if its digest is
 *       that of the query's timeline; else each verdict is compared with the listing of the query,
 *       by names, lengths and digests of files, and what it does not prove about them is read.
 * </ol>
 *
 * <p>Failures, refusals, answers that contradict themselves and answers with a message, which says
 * why less could be proved than was asked, are not kept. New evidence, such as an index that was
 * built without an instant on the timeline, does not make a proof wrong but could prove more; that
 * is why answers are used for {@code hudi.pruning.cache.ms} only.
 */
final class RepeatedQuestions {
  private static final Logger LOG = LoggerFactory.getLogger(RepeatedQuestions.class);
  private static final AnswerCache ANSWERS = new AnswerCache(System::nanoTime);

  private RepeatedQuestions() {}

  /** Throws PruningException if there is no answer that can be used. */
  static ScanVerdict ask(HudiTable table, PruneRequest request, PruningSettings settings)
      throws PruningException {
    long start = System.nanoTime();
    long maxAgeMillis = settings.cacheMillis();
    if (maxAgeMillis == 0) {
      return ScanVerdict.of(
          send(request, settings, late -> {}), AnswerSource.BY_SERVICE, micros(start));
    }
    AnswerCache.Question question =
        AnswerCache.Question.of(
            request,
            table.stateDigest(),
            settings.addresses(),
            settings.credentials(request.getBasePath()),
            settings.maxResponseBytes());
    PruneResponse known = ANSWERS.get(question, request, maxAgeMillis);
    if (known != null) {
      return ScanVerdict.of(known, AnswerSource.BY_CACHE, micros(start));
    }
    PruneResponse response =
        send(request, settings, late -> keepLate(question, late, table, request));
    ScanVerdict verdict = ScanVerdict.of(response, AnswerSource.BY_SERVICE, micros(start));
    keep(question, response, table, request);
    return verdict;
  }

  private static PruneResponse send(
      PruneRequest request, PruningSettings settings, Consumer<PruneResponse> late)
      throws PruningException {
    return PruneRequests.send(PruningClient.shared(), request, settings, late);
  }

  private static void keep(
      AnswerCache.Question question,
      PruneResponse response,
      HudiTable table,
      PruneRequest request) {
    if (response.getMessage() == null && isOfState(response, table, request)) {
      ANSWERS.put(question, response);
    }
  }

  /** Keeps an answer that its query did not wait for: as any other one, if it is consistent. */
  private static void keepLate(
      AnswerCache.Question question,
      PruneResponse response,
      HudiTable table,
      PruneRequest request) {
    try {
      ScanVerdict.of(response, AnswerSource.BY_SERVICE, 0);
      keep(question, response, table, request);
    } catch (PruningException e) {
      LOG.warn("{}: {}", table.basePath(), e.getMessage());
    }
  }

  private static boolean isOfState(PruneResponse response, HudiTable table, PruneRequest request) {
    KeptSlices kept = response.getKept();
    return kept == null
        ? response.getInstant() != null && response.getInstant().equals(request.getNewestInstant())
        : MessageDigest.isEqual(kept.getTimelineDigest(), table.timelineDigest());
  }

  private static long micros(long startNanos) {
    return TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - startNanos);
  }
}
