package io.pyhudi.hive.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;

/**
 * The content that one reader finds at a path.
 *
 * <p>Readers open files by Hadoop's configuration, so {@link #serve} puts {@link DataFileSystem}
 * into the configuration of one reader, in front of the file system of the path.
 */
public abstract class ServedFile {
  private static final String ID = "io.pyhudi.hive.file";
  private static final String PATH = "io.pyhudi.hive.file.path";
  private static final String LENGTH = "io.pyhudi.hive.file.length";

  /**
   * The settings that a reader's configuration replaces, with their own names behind this prefix.
   */
  static final String REPLACED = "io.pyhudi.hive.file.replaced.";

  /** The files by id that readers may open. */
  private static final Map<String, ServedFile> SERVED = new ConcurrentHashMap<>();

  private final String id = UUID.randomUUID().toString();
  private final Path path;

  protected ServedFile(Path path) {
    this.path = path;
  }

  /** Returns whether files at a path can be served to a reader of this configuration. */
  public static boolean isPossible(Path path, Configuration conf) {
    // Hive's class loader of a session may not find the classes of this jar.
    return path.toUri().getScheme() != null
        && conf.getClassByNameOrNull(DataFileSystem.class.getName()) == DataFileSystem.class;
  }

  public final Path path() {
    return path;
  }

  /** Returns the length of the content, bytes. */
  public abstract long length();

  /**
   * Opens the content.
   *
   * @param fs the file system of the path
   */
  protected abstract FSInputStream stream(FileSystem fs);

  /** Returns whether a reader that opens the file after {@link #withdraw} gets the file itself. */
  protected abstract boolean isTheFileItself();

  /** Returns a configuration in which a reader gets this content. */
  public final JobConf serve(JobConf job) {
    SERVED.put(id, this);
    String scheme = path.toUri().getScheme();
    JobConf copy = new JobConf(job);
    for (String name : replaced(scheme)) {
      String value = job.get(name);
      if (value != null) {
        copy.set(REPLACED + name, value);
      }
    }
    copy.setClass("fs." + scheme + ".impl", DataFileSystem.class, FileSystem.class);
    copy.setBoolean("fs." + scheme + ".impl.disable.cache", true);
    copy.set(ID, id);
    copy.set(PATH, path.toString());
    if (isTheFileItself()) {
      copy.setLong(LENGTH, length());
    }
    return copy;
  }

  /** Ends {@link #serve}. Streams that are open stay so. */
  public final void withdraw() {
    SERVED.remove(id);
  }

  /** Returns whether a reader of this configuration gets a content at the path. */
  static boolean isServed(Path path, Configuration conf) {
    String id = conf.get(ID);
    ServedFile file = id == null ? null : SERVED.get(id);
    return file != null && file.path.equals(path);
  }

  static Iterable<String> replaced(String scheme) {
    return Arrays.asList("fs." + scheme + ".impl", "fs." + scheme + ".impl.disable.cache");
  }

  /** Returns the file that a configuration names. */
  static ServedFile named(Configuration conf) throws IOException {
    ServedFile file = SERVED.get(conf.get(ID));
    if (file != null) {
      return file;
    }
    Path path = new Path(conf.get(PATH));
    long length = conf.getLong(LENGTH, -1);
    if (length < 0) {
      throw new FileNotFoundException("the selected rows of " + path + " are no longer served");
    }
    return new DataFile(path, length);
  }

  final FileStatus status() {
    return new FileStatus(length(), false, 1, Math.max(1, length()), 0, path);
  }
}
