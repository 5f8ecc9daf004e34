package io.pyhudi.hive.metastore;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.TransactionalMetaStoreEventListener;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.events.AddPartitionEvent;

/**
 * Refuses partitions whose files have left a Hudi table, or have come into one, as one of {@code
 * hive.metastore.transactional.event.listeners}.
 *
 * <p>EXCHANGE PARTITION renames the directory of a partition before it announces anything. If a
 * listener then refuses the new partition, the metastore renames the directory back.
 */
public final class HudiPartitionGuard extends TransactionalMetaStoreEventListener {
  private static final String MARKER = ".hoodie_partition_metadata";

  public HudiPartitionGuard(Configuration conf) {
    super(conf);
  }

  @Override
  public void onAddPartition(AddPartitionEvent event) throws MetaException {
    Iterator<Partition> added = event.getPartitionIterator();
    while (added.hasNext()) {
      String location = added.next().getSd().getLocation();
      if (location != null) {
        check(new Path(location));
      }
    }
  }

  private void check(Path location) throws MetaException {
    try {
      FileSystem fs = location.getFileSystem(getConf());
      boolean isInTable = HudiDirectories.around(location, fs) != null;
      boolean hasFiles = false;
      boolean isOfTable = false;
      for (FileStatus file : fs.listStatus(location)) {
        hasFiles |= file.isFile();
        // It has an extension in some tables.
        isOfTable |= file.getPath().getName().startsWith(MARKER);
      }
      if (isOfTable && !isInTable) {
        throw new MetaException(
            "Hudi tables are kept: " + location + " is a partition of a Hudi table, outside of it");
      }
      if (isInTable && hasFiles && !isOfTable) {
        throw new MetaException(
            "Hudi tables are kept: the files of "
                + location
                + " are in the directory of a Hudi table, and none of its partitions");
      }
    } catch (FileNotFoundException e) {
      // Nothing is there.
    } catch (IOException e) {
      throw new MetaException(location + " cannot be searched for a Hudi table's files: " + e);
    }
  }
}
