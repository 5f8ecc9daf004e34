package io.pyhudi.hive.version;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Arrays;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;

/** Opens files by what Hive 4's Hadoop offers. */
public final class HadoopFiles {
  /** The names of S3A's option, the older first. */
  private static final String[] S3A_POLICIES = {
    "fs.s3a.experimental.input.fadvise", "fs.s3a.input.fadvise"
  };

  private static final String[] DEFAULTS = {"core-default.xml"};
  private static final String POLICY = "fs.option.openfile.read.policy";
  private static final String LENGTH = "fs.option.openfile.length";

  private HadoopFiles() {}

  /**
   * Opens a file whose length is known, which spares object stores a request for it.
   *
   * @param isRandom whether parts of the file will be read, in any order; it is ignored if the
   *     configuration sets how S3A reads
   */
  public static FSDataInputStream open(FileSystem fs, FileStatus file, boolean isRandom)
      throws IOException {
    FutureDataInputStreamBuilder builder = fs.openFile(file.getPath()).withFileStatus(file);
    builder.opt(LENGTH, Long.toString(file.getLen()));
    if (isRandom && !isSet(fs.getConf())) {
      builder.opt(POLICY, "random");
      builder.opt(S3A_POLICIES[0], "random");
    }
    try {
      return builder.build().get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException)
          new InterruptedIOException("interrupted while opening " + file.getPath()).initCause(e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException) {
        throw (IOException) e.getCause();
      }
      throw new IOException(file.getPath() + " cannot be opened", e.getCause());
    }
  }

  /** Returns whether one of the names has a value that is not Hadoop's own default. */
  private static boolean isSet(Configuration conf) {
    for (String name : S3A_POLICIES) {
      String[] sources = conf.getPropertySources(name);
      if (sources != null && !Arrays.equals(sources, DEFAULTS)) {
        return true;
      }
    }
    return false;
  }
}
