package io.pyhudi.hive.table;

import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * The openings of tables, one for each query, table and user: what asks about a table while a query
 * is compiled and its splits are made shares one.
 *
 * <p>A user is who has logged in or is impersonated, not a name: Hadoop opens file systems for each
 * anew, and Hive closes them when a session of its user ends, in LLAP with each task.
 *
 * <p>Queries do not share an opening, because the table may change in between. Hive gives each
 * query an id at its start. A storage handler sees the configuration of the session, and so the id
 * of the session's newest query: if several run at once, that is this query or a later one, and its
 * opening is never older than the query that uses it.
 */
final class QueryTables {
  private static final String QUERY_ID = "hive.query.id";
  private static final int ENTRIES = 32;

  /** A query whose splits are made long after its compilation opens the table again. */
  private static final long MAX_AGE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private static final Map<List<Object>, Opening> RECENT =
      new LinkedHashMap<List<Object>, Opening>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, Opening> eldest) {
          return size() > ENTRIES;
        }
      };

  private QueryTables() {}

  private static final class Opening {
    private final long createdNanos = System.nanoTime();
    private HudiTable table;

    boolean isOld() {
      return System.nanoTime() - createdNanos >= MAX_AGE_NANOS;
    }

    /** Opens the table at the first call. The others wait meanwhile, and try again if it fails. */
    synchronized HudiTable table(Configuration conf, Path basePath) {
      if (table == null) {
        table = HudiTable.open(conf, basePath);
      }
      return table;
    }

    synchronized boolean isDone() {
      return table != null;
    }
  }

  /** Returns the query's opening of a table; a new one if the configuration names no query. */
  static HudiTable of(Configuration conf, Path basePath) {
    List<Object> key = key(conf, basePath);
    if (key == null) {
      return HudiTable.open(conf, basePath);
    }
    Opening opening;
    synchronized (RECENT) {
      RECENT.values().removeIf(Opening::isOld);
      opening = RECENT.computeIfAbsent(key, unused -> new Opening());
    }
    return opening.table(conf, basePath);
  }

  /** Returns whether the query has opened a table at this path. */
  static boolean isOpen(Configuration conf, Path basePath) {
    List<Object> key = key(conf, basePath);
    Opening opening;
    synchronized (RECENT) {
      opening = key == null ? null : RECENT.get(key);
    }
    return opening != null && !opening.isOld() && opening.isDone();
  }

  /** Returns null if the table must not be shared: the query or the user is not known. */
  private static List<Object> key(Configuration conf, Path basePath) {
    String query = conf.get(QUERY_ID, "");
    if (query.isEmpty()) {
      return null;
    }
    try {
      return Arrays.asList(query, UserGroupInformation.getCurrentUser(), basePath.toString());
    } catch (IOException e) {
      return null;
    }
  }
}
