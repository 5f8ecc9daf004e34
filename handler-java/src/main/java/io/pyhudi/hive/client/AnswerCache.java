package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.thrift.TBase;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializer;

/**
 * Answers of the pruning services to recent questions. It holds at most {@link #ENTRIES} answers,
 * and {@link #BYTES} with their questions, and drops those first that were not used for longest.
 *
 * <p>A question is everything that its answer depends on: the request without its id (table, filter
 * with the declared types of its columns, view, zone, instants, protocol), the state of the table
 * as the query has opened it, the services and the credentials for them, and the limit of an
 * answer's size. Answers are held as bytes, so their size is known and no reader can change them.
 */
public final class AnswerCache {
  static final int ENTRIES = 1_000;
  static final int BYTES = 32 << 20;

  /** A larger answer would replace too many others. */
  private static final int MAX_ENTRY_BYTES = BYTES / 8;

  private static final class Entry {
    private final byte[] answer;
    private final int size;
    private final long createdNanos;

    Entry(byte[] answer, int size, long createdNanos) {
      this.answer = answer;
      this.size = size;
      this.createdNanos = createdNanos;
    }
  }

  /** A question, as the key of its answer. */
  public static final class Question {
    private final ByteBuffer request;
    private final List<Object> others;

    private Question(ByteBuffer request, List<Object> others) {
      this.request = request;
      this.others = others;
    }

    /**
     * @param state a digest of the table's state that the query reads
     */
    public static Question of(
        PruneRequest request,
        byte[] state,
        List<ServiceAddress> addresses,
        Credentials credentials,
        int maxResponseBytes) {
      byte[] withoutId = bytes(new PruneRequest(request).setRequestId(""));
      return new Question(
          ByteBuffer.wrap(withoutId),
          Arrays.asList(ByteBuffer.wrap(state), addresses, credentials, maxResponseBytes));
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Question
          && ((Question) other).request.equals(request)
          && ((Question) other).others.equals(others);
    }

    @Override
    public int hashCode() {
      return 31 * request.hashCode() + others.hashCode();
    }
  }

  private final LongSupplier clock;
  private final Map<Question, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);
  private long size;

  /**
   * @param clock nanoseconds, as of System.nanoTime
   */
  public AnswerCache(LongSupplier clock) {
    this.clock = clock;
  }

  /**
   * Returns the answer to a question, as one to this request; null if there is none that is younger
   * than some milliseconds.
   */
  public PruneResponse get(Question question, PruneRequest request, long maxAgeMillis) {
    Entry entry;
    synchronized (entries) {
      entry = entries.get(question);
    }
    long maxAge = TimeUnit.MILLISECONDS.toNanos(maxAgeMillis);
    if (entry == null || clock.getAsLong() - entry.createdNanos >= maxAge) {
      return null;
    }
    PruneResponse answer = new PruneResponse();
    try {
      new TDeserializer().deserialize(answer, entry.answer);
    } catch (TException e) {
      throw new IllegalStateException("a kept answer cannot be read", e);
    }
    return answer.setRequestId(request.getRequestId());
  }

  /** Keeps an answer. The caller has checked that it answers the question, and completely. */
  public void put(Question question, PruneResponse answer) {
    byte[] content = bytes(answer);
    long total = (long) content.length + question.request.remaining();
    if (total > MAX_ENTRY_BYTES) {
      return;
    }
    synchronized (entries) {
      Entry replaced = entries.put(question, new Entry(content, (int) total, clock.getAsLong()));
      size += total - (replaced == null ? 0 : replaced.size);
      Iterator<Entry> eldest = entries.values().iterator();
      while (entries.size() > ENTRIES || size > BYTES) {
        size -= eldest.next().size;
        eldest.remove();
      }
    }
  }

  /** Returns the bytes of all answers and questions. */
  long size() {
    synchronized (entries) {
      return size;
    }
  }

  private static byte[] bytes(TBase<?, ?> message) {
    try {
      return new TSerializer().serialize(message);
    } catch (TException e) {
      throw new IllegalStateException("a message cannot be written", e);
    }
  }
}
