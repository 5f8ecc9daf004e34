package io.pyhudi.hive.version;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;

/** Opens files by what Hive 3.1's Hadoop offers. */
public final class HadoopFiles {
  private HadoopFiles() {}

  /**
   * Opens a file. This Hadoop has no way to pass the length, or how the file will be read.
   *
   * @param isRandom whether parts of the file will be read, in any order
   */
  public static FSDataInputStream open(FileSystem fs, FileStatus file, boolean isRandom)
      throws IOException {
    return fs.open(file.getPath());
  }
}
