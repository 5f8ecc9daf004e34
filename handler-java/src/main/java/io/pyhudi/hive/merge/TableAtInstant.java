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

/** The state of a table that every merged slice of one query needs; opened once for many slices. */
public final class TableAtInstant {
  private static final int ENTRIES = 8;

  private static final Map<List<String>, TableAtInstant> RECENT =
      new LinkedHashMap<List<String>, TableAtInstant>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<String>, TableAtInstant> eldest) {
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
    String user = UserGroupInformation.getCurrentUser().getUserName();
    List<String> key = Arrays.asList(user, basePath.toString(), stateKey);
    synchronized (RECENT) {
      TableAtInstant table = RECENT.get(key);
      if (table == null) {
        table = new TableAtInstant(HudiTable.ofQuery(conf, basePath));
        RECENT.put(key, table);
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
