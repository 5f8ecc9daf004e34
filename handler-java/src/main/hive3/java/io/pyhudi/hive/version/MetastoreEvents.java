package io.pyhudi.hive.version;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.metastore.RawStore;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.NoSuchObjectException;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.Table;

/** What the metastore of Hive 3.1 says of its objects. */
public final class MetastoreEvents {
  private static final int ALL = -1;

  private MetastoreEvents() {}

  /** Returns where the partitions of a table lie; some may be null. */
  public static Collection<String> partitionLocations(Table table, RawStore store)
      throws MetaException {
    List<String> locations = new ArrayList<>();
    try {
      for (Partition partition :
          store.getPartitions(table.getCatName(), table.getDbName(), table.getTableName(), ALL)) {
        locations.add(partition.getSd().getLocation());
      }
    } catch (NoSuchObjectException e) {
      throw new MetaException(e.getMessage());
    }
    return locations;
  }

  /** Returns the directories that DROP DATABASE deletes. */
  public static List<String> locations(Database database) {
    return Collections.singletonList(database.getLocationUri());
  }
}
