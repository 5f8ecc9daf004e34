package io.pyhudi.hive.metadata;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * The right of the current user to read the files of a Hudi table: with impersonation, of the user
 * who asks; else of HiveServer2.
 *
 * <p>The pruning service reads with rights of its own, so what it says of a table is shown only to
 * those who may read the table themselves. Object stores whose client cannot tell allow everything
 * here.
 */
public final class FileRights {
  /** File systems that keep permissions of directories. Others let everybody in, who can ask. */
  private static final Set<String> WITH_PERMISSIONS =
      new HashSet<>(Arrays.asList("file", "hdfs", "webhdfs", "swebhdfs", "viewfs"));

  private static final String METADATA = ".hoodie";

  private final Configuration conf;
  private final Path basePath;

  public FileRights(Configuration conf, Path basePath) {
    this.conf = conf;
    this.basePath = basePath;
  }

  /**
   * Checks that the user may read the table's directory and its metadata.
   *
   * @throws AccessControlException if he may not
   */
  public void requireTable() throws IOException {
    requireReadable(basePath);
    requireReadable(new Path(basePath, METADATA));
  }

  /**
   * Checks that the user may read some of the table's partitions, by their relative paths.
   *
   * @throws AccessControlException if he may not
   */
  public void requirePartitions(Collection<String> paths) throws IOException {
    if (WITH_PERMISSIONS.contains(basePath.getFileSystem(conf).getUri().getScheme())) {
      for (String path : paths) {
        requireReadable(path.isEmpty() ? basePath : new Path(basePath, path));
      }
    }
  }

  private void requireReadable(Path directory) throws IOException {
    FileSystem fs = directory.getFileSystem(conf);
    try {
      if (isLocal(fs)) {
        requireLocal(fs, directory);
      } else {
        fs.access(directory, FsAction.READ_EXECUTE);
      }
    } catch (AccessControlException e) {
      throw new AccessControlException(
          "user "
              + UserGroupInformation.getCurrentUser().getShortUserName()
              + " may not read the Hudi table "
              + basePath
              + ": "
              + e.getMessage());
    }
  }

  private static boolean isLocal(FileSystem fs) {
    return "file".equals(fs.getUri().getScheme());
  }

  /**
   * Checks a directory of the local file system, whose client looks neither at the directories
   * above nor behind symbolic links, as HDFS does.
   */
  private static void requireLocal(FileSystem fs, Path directory) throws IOException {
    Path real = realPath(directory);
    for (Path above = real.getParent(); above != null; above = above.getParent()) {
      fs.access(above, FsAction.EXECUTE);
    }
    fs.access(real, FsAction.READ_EXECUTE);
  }

  /** Returns where a directory of the local file system is, behind symbolic links. */
  private static Path realPath(Path directory) throws IOException {
    return new Path(new File(directory.toUri().getPath()).toPath().toRealPath().toUri());
  }

  /**
   * Returns the table's directory for those who authorise by paths: behind symbolic links, where
   * its file system has them.
   */
  public Path tableDirectory() throws IOException {
    return isLocal(basePath.getFileSystem(conf)) ? realPath(basePath) : basePath;
  }
}
