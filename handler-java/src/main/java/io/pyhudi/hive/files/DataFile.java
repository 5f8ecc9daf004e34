package io.pyhudi.hive.files;

import io.pyhudi.hive.version.HadoopFiles;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
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
 */
public final class DataFile extends ServedFile {
  private static final Logger LOG = LoggerFactory.getLogger(DataFile.class);

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

  private final long length;
  private byte[] end;

  DataFile(Path path, long length) {
    super(path);
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
    try {
      return opener.open(file.serve(job));
    } finally {
      file.withdraw();
    }
  }

  /**
   * Opens a stream of a file. Of one in an object store, the end is fetched at once.
   *
   * @param length the file's length in bytes
   */
  public static FSDataInputStream open(Path path, long length, JobConf job) throws IOException {
    FileSystem fs = path.getFileSystem(job);
    DataFile file = of(path, length, job);
    return file == null ? fs.open(path) : new FSDataInputStream(file.stream(fs));
  }

  /** Returns whether each opening of a file, and each seek, is a request over a network. */
  public static boolean isRemote(Path path) {
    return OBJECT_STORES.contains(String.valueOf(path.toUri().getScheme()));
  }

  /**
   * Fetches the end of a file. Returns null if the file system gains nothing, if the configuration
   * is one in which the file is served already, or if the end is not one of a Parquet file: then
   * the length is wrong, and the file is read as Hive does it.
   */
  private static DataFile of(Path path, long length, JobConf job) {
    boolean isNeeded = length >= 0 && isRemote(path) && !isServed(path, job);
    if (!isNeeded || !isPossible(path, job)) {
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

  @Override
  protected boolean isTheFileItself() {
    return true;
  }

  @Override
  protected FSInputStream stream(FileSystem fs) {
    return new DataFileStream(this, fs);
  }

  /** Returns where the part begins that is kept in memory. */
  long endStart() {
    return length <= WHOLE_BYTES ? 0 : length - END_BYTES;
  }

  @Override
  public long length() {
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
