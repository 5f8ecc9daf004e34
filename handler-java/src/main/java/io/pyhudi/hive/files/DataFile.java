package io.pyhudi.hive.files;

import io.pyhudi.hive.version.HadoopFiles;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Parquet file in an object store while one reader reads it.
 *
 * <p>Hive and Parquet each look up its length, open it and read its footer, which is large if it
 * holds a Bloom filter of the record keys. Here the length is known from the listing, and a small
 * file, or else the end of the file, is fetched by one request and serves all of them.
 *
 * <p>Readers open files by Hadoop's configuration, so this class puts {@link DataFileSystem} into
 * the configuration of one reader, in front of the file system of the path.
 */
public final class DataFile {
  private static final Logger LOG = LoggerFactory.getLogger(DataFile.class);

  private static final String ID = "io.pyhudi.hive.file";
  private static final String PATH = "io.pyhudi.hive.file.path";
  private static final String LENGTH = "io.pyhudi.hive.file.length";

  /**
   * The settings that a reader's configuration replaces, with their own names behind this prefix.
   */
  static final String REPLACED = "io.pyhudi.hive.file.replaced.";

  /** A request takes about as long as the transfer of this many bytes. */
  private static final int WHOLE_BYTES = 1 << 20;

  /** Hudi's Bloom filters take up to about 440 KB in a footer. */
  private static final int END_BYTES = 1 << 19;

  private static final byte[] PLAIN_MAGIC = {'P', 'A', 'R', '1'};
  private static final byte[] ENCRYPTED_MAGIC = {'P', 'A', 'R', 'E'};

  /** File systems where each opening of a file, and each seek, is a request over a network. */
  private static final Set<String> OBJECT_STORES =
      new HashSet<>(
          Arrays.asList(
              "s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "adl", "oss", "cosn",
              "obs", "tos"));

  /** The files by id whose readers are being opened. */
  private static final Map<String, DataFile> OPEN = new ConcurrentHashMap<>();

  private final String id = UUID.randomUUID().toString();
  private final Path path;
  private final long length;
  private byte[] end;

  private DataFile(Path path, long length) {
    this.path = path;
    this.length = length;
  }

  /** Opens a reader by a configuration. */
  public interface Opener<T> {
    T open(JobConf job) throws IOException;
  }

  /**
   * Opens a reader of a file in an object store in such a way. Other files are opened as ever.
   *
   * @param length the file's length in bytes, or -1
   */
  public static <T> T read(Path path, long length, JobConf job, Opener<T> opener)
      throws IOException {
    DataFile file = of(path, length, job);
    if (file == null) {
      return opener.open(job);
    }
    // Readers open all that they need at once; the streams then hold the file.
    OPEN.put(file.id, file);
    try {
      return opener.open(file.in(job));
    } finally {
      OPEN.remove(file.id);
    }
  }

  /**
   * Fetches the end of a file. Returns null if the file system gains nothing, or if the end is not
   * one of a Parquet file: then the length is wrong, and the file is read as Hive does it.
   */
  private static DataFile of(Path path, long length, JobConf job) {
    boolean isRemote = OBJECT_STORES.contains(String.valueOf(path.toUri().getScheme()));
    // Hive's class loader of a session may not find the classes of this jar.
    boolean isFound =
        job.getClassByNameOrNull(DataFileSystem.class.getName()) == DataFileSystem.class;
    if (length < 0 || !isRemote || !isFound) {
      return null;
    }
    DataFile file = new DataFile(path, length);
    try {
      if (!endsLikeParquet(file.end(path.getFileSystem(job)))) {
        throw new IOException("its last bytes are not those of a Parquet file");
      }
      return file;
    } catch (IOException e) {
      LOG.warn("{} cannot be read by its listed length, {} bytes", path, length, e);
      return null;
    }
  }

  private static boolean endsLikeParquet(byte[] end) {
    byte[] last = Arrays.copyOfRange(end, Math.max(0, end.length - 4), end.length);
    return Arrays.equals(last, PLAIN_MAGIC) || Arrays.equals(last, ENCRYPTED_MAGIC);
  }

  /** Returns a configuration in which a reader gets this file. */
  private JobConf in(JobConf job) {
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
    copy.setLong(LENGTH, length);
    return copy;
  }

  static Iterable<String> replaced(String scheme) {
    return Arrays.asList("fs." + scheme + ".impl", "fs." + scheme + ".impl.disable.cache");
  }

  /** Returns the file that a configuration names; one without content after its reader is open. */
  static DataFile named(Configuration conf) {
    DataFile file = OPEN.get(conf.get(ID));
    return file == null ? new DataFile(new Path(conf.get(PATH)), conf.getLong(LENGTH, -1)) : file;
  }

  Path path() {
    return path;
  }

  FileStatus status() {
    return new FileStatus(length, false, 1, Math.max(1, length), 0, path);
  }

  /** Returns where the part begins that is kept in memory. */
  long endStart() {
    return length <= WHOLE_BYTES ? 0 : length - END_BYTES;
  }

  long length() {
    return length;
  }

  /** Returns the bytes from {@link #endStart} on; the first call fetches them. */
  synchronized byte[] end(FileSystem fs) throws IOException {
    if (end == null) {
      byte[] bytes = new byte[(int) (length - endStart())];
      try (FSDataInputStream stream = open(fs)) {
        stream.readFully(endStart(), bytes);
      }
      end = bytes;
    }
    return end;
  }

  FSDataInputStream open(FileSystem fs) throws IOException {
    return HadoopFiles.open(fs, status(), true);
  }
}
