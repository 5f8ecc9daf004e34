package io.pyhudi.hive.table;

import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.HoodieTimeline;
import org.apache.hudi.common.util.Option;

/**
 * The state of a table from whose rows a part of a query's plan was made. The query must read the
 * same state, wherever it reads the table: with other rows the plan would be wrong.
 *
 * <p>It is kept in the query's own configuration, which Hive sends to all that runs the query.
 */
public final class PlannedState {
  private static final String PROPERTY = "pyhudi.planned.state.";
  private static final String QUERY_ID = "hive.query.id";
  private static final String SEPARATOR = " ";
  private static final int PARTS = 4;

  private final String instant;
  private final String timeline;

  private PlannedState(String instant, String timeline) {
    this.instant = instant;
    this.timeline = timeline;
  }

  /**
   * Has a query read a table in its newest state everywhere. Returns whether that can be promised;
   * nothing is changed otherwise.
   *
   * @param query the configuration of the query that is planned
   */
  public static boolean keep(Configuration query, Path basePath) {
    String id = query.get(QUERY_ID, "");
    HudiTable table = HudiTable.ofQuery(query, basePath);
    PlannedState before = of(query, basePath);
    if (before != null) {
      // Other keys in the plan are those of that state.
      return before.isStateOf(table);
    }
    if (id.isEmpty() || !canBeReadAgain(table)) {
      return false;
    }
    String state =
        String.join(
            SEPARATOR,
            id,
            table.newestInstant(),
            timelineOf(table),
            Objects.toString(basePath.toUri().getAuthority(), ""));
    query.set(property(basePath), state);
    return true;
  }

  /** A commit that started before the newest one and is not completed may be part of it later. */
  private static boolean canBeReadAgain(HudiTable table) {
    HoodieTimeline all = table.metaClient().getCommitsAndCompactionTimeline();
    Option<HoodieInstant> pending = all.filterInflightsAndRequested().firstInstant();
    String newest = table.newestInstant();
    return newest != null
        && !(pending.isPresent() && pending.get().requestedTime().compareTo(newest) <= 0);
  }

  /** Returns what a query has to read of a table; null if its plan does not depend on it. */
  static PlannedState of(Configuration conf, Path basePath) {
    String state = conf.get(property(basePath));
    if (state == null) {
      return null;
    }
    String[] parts = state.split(SEPARATOR, PARTS);
    boolean isOfQuery = parts[0].equals(conf.get(QUERY_ID));
    String authority = basePath.toUri().getAuthority();
    boolean isElsewhere = authority != null && !parts[3].isEmpty() && !authority.equals(parts[3]);
    return isOfQuery && !isElsewhere ? new PlannedState(parts[1], parts[2]) : null;
  }

  /**
   * Returns whether a table, or an earlier state of it, has the commits of this state. A commit may
   * have started before this state's newest one, and have shown itself and completed after it.
   */
  boolean isStateOf(HudiTable table) {
    return timeline.equals(timelineOf(table));
  }

  String instant() {
    return instant;
  }

  private static String timelineOf(HudiTable table) {
    HoodieTimeline completed = table.completedTimeline();
    String asOf = table.asOf();
    return (asOf == null ? completed : completed.findInstantsBeforeOrEquals(asOf))
        .getTimelineHash();
  }

  /** Hosts may name a file system in different ways, or leave out its name. */
  private static String property(Path basePath) {
    return PROPERTY + basePath.toUri().getPath();
  }
}
