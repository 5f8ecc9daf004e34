package io.pyhudi.hive.metastore;

import io.pyhudi.hive.version.MetastoreEvents;
import java.io.IOException;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.MetaStorePreEventListener;
import org.apache.hadoop.hive.metastore.RawStore;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.InvalidOperationException;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.api.UnknownDBException;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.metastore.events.PreAddPartitionEvent;
import org.apache.hadoop.hive.metastore.events.PreAlterPartitionEvent;
import org.apache.hadoop.hive.metastore.events.PreAlterTableEvent;
import org.apache.hadoop.hive.metastore.events.PreCreateTableEvent;
import org.apache.hadoop.hive.metastore.events.PreDropDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.PreDropPartitionEvent;
import org.apache.hadoop.hive.metastore.events.PreDropTableEvent;
import org.apache.hadoop.hive.metastore.events.PreEventContext;

/**
 * Refuses what would let the metastore delete or move the files of a Hudi table, as one of {@code
 * hive.metastore.pre.event.listeners}.
 *
 * <p>It sees what every client asks of the metastore, with or without the storage handler's hook,
 * and looks at the directories concerned: whoever registered a Hudi table, and by whatever reader,
 * its files stay. Directories without Hudi tables are no concern of it. Of Hive it needs the
 * metastore only.
 */
public final class HudiTableGuard extends MetaStorePreEventListener {
  private static final String HANDLER = "io.pyhudi.hive.HudiStorageHandler";

  public HudiTableGuard(Configuration conf) {
    super(conf);
  }

  @Override
  public void onEvent(PreEventContext event) throws MetaException, InvalidOperationException {
    switch (event.getEventType()) {
      case CREATE_TABLE:
        checkKept(((PreCreateTableEvent) event).getTable());
        return;
      case ALTER_TABLE:
        PreAlterTableEvent altered = (PreAlterTableEvent) event;
        checkAltered(altered.getOldTable(), altered.getNewTable());
        return;
      case DROP_TABLE:
        PreDropTableEvent dropped = (PreDropTableEvent) event;
        if (dropped.getDeleteData()) {
          checkDropped(dropped.getTable(), event.getHandler().getMS());
        }
        return;
      case DROP_DATABASE:
        Database database = ((PreDropDatabaseEvent) event).getDatabase();
        checkDropped(database, event.getHandler().getMS());
        return;
      case ADD_PARTITION:
        PreAddPartitionEvent added = (PreAddPartitionEvent) event;
        checkPartitions(added.getTable(), added.getPartitionIterator());
        return;
      case ALTER_PARTITION:
        checkAltered((PreAlterPartitionEvent) event, event.getHandler().getMS());
        return;
      case DROP_PARTITION:
        PreDropPartitionEvent removed = (PreDropPartitionEvent) event;
        if (removed.getDeleteData()) {
          checkPartitions(removed.getTable(), removed.getPartitionIterator());
        }
        return;
      default:
        // It changes no files.
    }
  }

  /** Checks that a table at its location keeps the files there when it is dropped. */
  private void checkKept(Table table) throws InvalidOperationException {
    String reason = TableData.deletedBy(table);
    if (reason != null) {
      check(name(table), reason, locationOf(table));
    }
  }

  private void checkAltered(Table before, Table after) throws InvalidOperationException {
    boolean isMoved = !Objects.equals(locationOf(before), locationOf(after));
    String reason = TableData.deletedBy(after);
    if (reason != null && (isMoved || TableData.deletedBy(before) == null)) {
      check(name(before), reason, locationOf(after));
    }
    boolean isRenamed =
        !before.getTableName().equalsIgnoreCase(after.getTableName())
            || !before.getDbName().equalsIgnoreCase(after.getDbName());
    if (isRenamed && TableData.movesWithName(before)) {
      check(name(before), "another name would move its files", locationOf(before));
    }
    if (HANDLER.equals(handler(before)) && (isMoved || !HANDLER.equals(handler(after)))) {
      throw refusal(
          name(before),
          "the storage handler and the location of a Hudi table stay; DROP TABLE and CREATE EXTERNAL"
              + " TABLE again (the data stays)");
    }
  }

  private void checkDropped(Table table, RawStore store)
      throws InvalidOperationException, MetaException {
    checkKept(table);
    String reason = TableData.deletedBy(table);
    if (reason == null || table.getPartitionKeysSize() == 0) {
      return;
    }
    // Partitions may lie outside of the table's directory.
    for (String location : MetastoreEvents.partitionLocations(table, store)) {
      if (location != null) {
        check(name(table), reason, location);
      }
    }
  }

  private void checkDropped(Database database, RawStore store)
      throws InvalidOperationException, MetaException {
    for (String location : MetastoreEvents.locations(database)) {
      check(
          "database " + database.getName(),
          "DROP DATABASE deletes the whole directory " + location,
          location);
    }
    String catalog = database.getCatalogName();
    try {
      List<String> names = store.getAllTables(catalog, database.getName());
      // The store cannot be asked for no tables.
      List<Table> tables =
          names.isEmpty()
              ? Collections.emptyList()
              : store.getTableObjectsByName(catalog, database.getName(), names);
      for (Table table : tables) {
        checkDropped(table, store);
      }
    } catch (UnknownDBException e) {
      throw new InvalidOperationException(e.getMessage());
    }
  }

  private void checkAltered(PreAlterPartitionEvent event, RawStore store)
      throws InvalidOperationException, MetaException {
    Table table =
        store.getTable(
            event.getNewPartition().getCatName(), event.getDbName(), event.getTableName());
    String reason = table == null ? null : TableData.deletedBy(table);
    if (reason != null) {
      check(name(table), reason, locationOf(event.getNewPartition()));
    }
  }

  private void checkPartitions(Table table, Iterator<Partition> partitions)
      throws InvalidOperationException {
    String reason = TableData.deletedBy(table);
    while (reason != null && partitions.hasNext()) {
      check(name(table), reason, locationOf(partitions.next()));
    }
  }

  private void check(String what, String reason, String location) throws InvalidOperationException {
    if (location == null || location.isEmpty()) {
      return;
    }
    Path found;
    try {
      found = HudiDirectories.in(new Path(location), getConf());
    } catch (IOException e) {
      throw refusal(what, location + " cannot be searched for Hudi tables: " + e);
    }
    if (found != null) {
      throw refusal(
          what,
          reason
              + ", and the files of the Hudi table at "
              + found
              + " would be deleted or moved; only an EXTERNAL table that does not purge may be there");
    }
  }

  private static InvalidOperationException refusal(String what, String reason) {
    return new InvalidOperationException("Hudi tables are kept: " + what + ": " + reason);
  }

  private static String handler(Table table) {
    return table.getParameters() == null
        ? null
        : table.getParameters().get(hive_metastoreConstants.META_TABLE_STORAGE);
  }

  private static String locationOf(Table table) {
    return table.getSd() == null ? null : table.getSd().getLocation();
  }

  private static String locationOf(Partition partition) {
    return partition.getSd() == null ? null : partition.getSd().getLocation();
  }

  private static String name(Table table) {
    return table.getDbName() + "." + table.getTableName();
  }
}
