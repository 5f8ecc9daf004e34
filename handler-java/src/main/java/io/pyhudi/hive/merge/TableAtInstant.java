package io.pyhudi.hive.merge;

import io.pyhudi.hive.table.HudiTable;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.TableSchemaResolver;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.internal.schema.InternalSchema;

/**
 * The state of a table that every merged slice of one query needs; opened once for many slices.
 *
 * <p>A login is given its own: one that another login has opened may read by file systems that are
 * closed by now. In LLAP each task has a login, of one name for all, and closes its file systems.
 */
public final class TableAtInstant {
  private static final int ENTRIES = 8;

  private static final Map<List<Object>, Opening> RECENT =
      new LinkedHashMap<List<Object>, Opening>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, Opening> eldest) {
          return size() > ENTRIES;
        }
      };

  private final HoodieTableMetaClient metaClient;
  private final Schema schema;
  private final Option<InternalSchema> internalSchema;

  private TableAtInstant(HudiTable table) throws IOException {
    metaClient = table.metaClient();
    schema = table.schema();
    internalSchema =
        table.hasSchemaHistory()
            ? new TableSchemaResolver(metaClient).getTableInternalSchemaFromCommitMetadata()
            : Option.empty();
  }

  /**
   * @param stateKey of the state that the query reads
   */
  public static TableAtInstant of(Configuration conf, Path basePath, String stateKey)
      throws IOException {
    UserGroupInformation user = UserGroupInformation.getCurrentUser();
    List<Object> key = Arrays.asList(user, basePath.toString(), stateKey);
    Opening opening;
    synchronized (RECENT) {
      opening = RECENT.computeIfAbsent(key, unused -> new Opening());
    }
    return opening.table(conf, basePath);
  }

  /** One opening. Tasks of other users, or of other tables, do not wait for it. */
  private static final class Opening {
    private TableAtInstant table;

    synchronized TableAtInstant table(Configuration conf, Path basePath) throws IOException {
      if (table == null) {
        table = new TableAtInstant(HudiTable.ofQuery(conf, basePath));
      }
      return table;
    }
  }

  HoodieTableMetaClient metaClient() {
    return metaClient;
  }

  public Schema schema() {
    return schema;
  }

  Option<InternalSchema> internalSchema() {
    return internalSchema;
  }
}
