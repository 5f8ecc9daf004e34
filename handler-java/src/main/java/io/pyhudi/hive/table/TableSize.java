package io.pyhudi.hive.table;

import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.protocol.TableView;
import java.io.IOException;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.common.StatsSetupConst;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The number of files and bytes of a table, for Hive's planner.
 *
 * <p>Without it Hive lists every file below the table's location, old versions and metadata
 * included, each time that it compiles a query.
 */
public final class TableSize {
  private static final Logger LOG = LoggerFactory.getLogger(TableSize.class);
  private static final int ENTRIES = 256;

  private static final Map<Path, TableSize> KNOWN =
      new LinkedHashMap<Path, TableSize>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Path, TableSize> eldest) {
          return size() > ENTRIES;
        }
      };

  private final String state;
  private final long files;
  private final long bytes;

  private TableSize(String state, long files, long bytes) {
    this.state = state;
    this.files = files;
    this.bytes = bytes;
  }

  /** Returns a known number of files and bytes as Hive's basic statistics. */
  public static Map<String, String> statistics(long files, long bytes) {
    Map<String, String> statistics = new HashMap<>();
    statistics.put(StatsSetupConst.NUM_FILES, Long.toString(files));
    statistics.put(StatsSetupConst.TOTAL_SIZE, Long.toString(bytes));
    return statistics;
  }

  /**
   * Returns the table's size as Hive's basic statistics: numFiles and totalSize. The table is
   * listed once for each instant. The result is empty if the table cannot be read; Hive then makes
   * its own estimate.
   *
   * @throws StateException if the table does not have the state that the settings ask for
   */
  public static Map<String, String> statistics(
      Configuration conf, Path basePath, PruningSettings settings) {
    try {
      TableSize size = of(HudiTable.ofQuery(conf, basePath, settings));
      return statistics(size.files, size.bytes);
    } catch (StateException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      LOG.warn("{}: the table's size is not known", basePath, e);
      return Collections.emptyMap();
    }
  }

  private static TableSize of(HudiTable table) throws IOException {
    String state = table.stateKey();
    synchronized (KNOWN) {
      TableSize known = KNOWN.get(table.basePath());
      if (known != null && known.state.equals(state)) {
        return known;
      }
    }
    TableSize listed = list(table, state);
    synchronized (KNOWN) {
      KNOWN.put(table.basePath(), listed);
    }
    return listed;
  }

  private static TableSize list(HudiTable table, String state) throws IOException {
    long files = 0;
    long bytes = 0;
    List<Path> everything = Collections.singletonList(table.basePath());
    try (TableListing listing = table.list(everything)) {
      Collection<List<Slice>> partitions =
          table.changes() == null
              ? listing.slices(listing.partitions(), TableView.SNAPSHOT).values()
              : table.changes().slices(TableView.SNAPSHOT).values();
      for (List<Slice> slices : partitions) {
        for (Slice slice : slices) {
          files += slice.tokens().size();
          bytes += slice.bytes();
        }
      }
    }
    return new TableSize(state, files, bytes);
  }
}
