package io.pyhudi.hive.metastore;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/** Finds the Hudi tables whose files a change of a directory would reach. */
final class HudiDirectories {
  private static final String MARKER = ".hoodie/hoodie.properties";
  private static final String BELOW = Path.SEPARATOR + MARKER;

  private HudiDirectories() {}

  /**
   * Returns the base path of a Hudi table that a directory is, lies in, or holds; null if there is
   * none.
   *
   * @throws IOException if that cannot be found out
   */
  static Path in(Path directory, Configuration conf) throws IOException {
    FileSystem fs = directory.getFileSystem(conf);
    Path around = around(directory, fs);
    return around == null ? below(directory, fs) : around;
  }

  /** Returns the base path of the Hudi table that a directory is, or lies in; null if none. */
  static Path around(Path directory, FileSystem fs) throws IOException {
    for (Path path = directory; path != null; path = path.getParent()) {
      if (fs.exists(new Path(path, MARKER))) {
        return path;
      }
    }
    return null;
  }

  /** Lists all files: object stores list a whole directory as fast as one level of it. */
  private static Path below(Path directory, FileSystem fs) throws IOException {
    try {
      RemoteIterator<LocatedFileStatus> files = fs.listFiles(directory, true);
      while (files.hasNext()) {
        Path file = files.next().getPath();
        if (file.toString().endsWith(BELOW)) {
          return file.getParent().getParent();
        }
      }
      return null;
    } catch (FileNotFoundException e) {
      return null;
    }
  }
}
