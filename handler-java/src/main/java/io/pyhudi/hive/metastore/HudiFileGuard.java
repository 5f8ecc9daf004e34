package io.pyhudi.hive.metastore;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.HiveMetaStoreFsImpl;
import org.apache.hadoop.hive.metastore.api.MetaException;

/**
 * Deletes directories for the metastore, but none of a Hudi table, as {@code
 * hive.metastore.fs.handler.class}.
 *
 * <p>The metastore announces no TRUNCATE to {@link HudiTableGuard}, and a temporary table is
 * deleted in HiveServer2 without any metastore: both delete directories by this class. Hive 4.2 has
 * no such setting, and never loads this class, which does not link there.
 */
public final class HudiFileGuard extends HiveMetaStoreFsImpl {

  @Override
  public boolean deleteDir(
      FileSystem fs, Path directory, boolean recursive, boolean ifPurge, Configuration conf)
      throws MetaException {
    Path found;
    try {
      found = HudiDirectories.in(directory, conf);
    } catch (IOException e) {
      throw new MetaException(directory + " cannot be searched for Hudi tables, and stays: " + e);
    }
    if (found != null) {
      throw new MetaException(
          directory + " is not deleted: it holds files of the Hudi table at " + found);
    }
    return super.deleteDir(fs, directory, recursive, ifPurge, conf);
  }
}
