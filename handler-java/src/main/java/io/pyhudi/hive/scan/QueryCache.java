package io.pyhudi.hive.scan;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Caches the last few verdicts, for equal requests of one query: the fetch task scans a table with
 * partitions in the metastore partition by partition.
 *
 * <p>A verdict refers to files and their bytes, so it holds for a later listing too.
 */
final class QueryCache {
  private static final int ENTRIES = 64;
  private static final long MAX_AGE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private static final class Aged {
    private final ScanVerdict verdict;
    private final long createdNanos = System.nanoTime();

    Aged(ScanVerdict verdict) {
      this.verdict = verdict;
    }

    boolean isFresh() {
      return System.nanoTime() - createdNanos < MAX_AGE_NANOS;
    }
  }

  private final Map<List<Object>, Aged> recent =
      new LinkedHashMap<List<Object>, Aged>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, Aged> eldest) {
          return size() > ENTRIES;
        }
      };

  /**
   * @param key everything that the verdict depends on, the query's id included
   */
  ScanVerdict get(List<Object> key, Supplier<ScanVerdict> maker) {
    synchronized (recent) {
      Aged entry = recent.get(key);
      if (entry != null && entry.isFresh()) {
        return entry.verdict;
      }
    }
    ScanVerdict made = maker.get();
    synchronized (recent) {
      recent.put(key, new Aged(made));
    }
    return made;
  }
}
