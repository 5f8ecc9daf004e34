package io.pyhudi.hive.version;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.hive.metastore.RawStore;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.Table;

/** What the metastore of Hive 4 says of its objects. */
public final class MetastoreEvents {
  private static final int ALL = -1;

  private MetastoreEvents() {}

  /** Returns where partitions of a table lie outside of its directory; some may be null. */
  public static Collection<String> partitionLocations(Table table, RawStore store)
      throws MetaException {
    return store
        .getPartitionLocations(
            table.getCatName(),
            table.getDbName(),
            table.getTableName(),
            table.getSd().getLocation(),
            ALL)
        .values();
  }

  /** Returns the directories that DROP DATABASE deletes; one may be null. */
  public static List<String> locations(Database database) {
    return Arrays.asList(database.getLocationUri(), database.getManagedLocationUri());
  }
}
