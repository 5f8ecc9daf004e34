package io.pyhudi.hive.table;

import io.pyhudi.hive.files.MemoryStream;
import io.pyhudi.hive.version.HadoopFiles;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.exception.HoodieIOException;
import org.apache.hudi.exception.TableNotFoundException;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.io.SeekableDataInputStream;
import org.apache.hudi.io.hadoop.HadoopSeekableDataInputStream;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StorageConfiguration;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathFilter;
import org.apache.hudi.storage.StoragePathInfo;
import org.apache.hudi.storage.hadoop.HoodieHadoopStorage;

/**
 * Hudi's access to the files of one opened table, which reads each small file and each directory
 * below {@code .hoodie} once.
 *
 * <p>Hudi opens a table anew in each of its layers (the file index, the metadata reader), and lists
 * the timeline again each time. In an object store each of these is a request, and some are two: a
 * file of unknown length is looked up before it is read. It also means that all layers see the same
 * state of the table.
 *
 * <p>Data files are not kept. Contents are given up if memory runs short, and are read again.
 */
final class QueryStorage extends HoodieHadoopStorage {
  private static final String PROPERTIES = HoodieTableConfig.HOODIE_PROPERTIES_FILE;
  private static final String INDEX_DEFINITIONS =
      "/"
          + HoodieTableMetaClient.INDEX_DEFINITION_FOLDER_NAME
          + "/"
          + HoodieTableMetaClient.INDEX_DEFINITION_FILE_NAME;

  /** Larger files are read in parts, by a stream. */
  private static final int MAX_KEPT_BYTES = 8 << 20;

  /** What has been read, shared by all accesses to the table; its monitor guards it. */
  private static final class Kept {
    private final Map<StoragePath, SoftReference<byte[]>> contents = new HashMap<>();
    private final Map<StoragePath, Map<StoragePath, FileStatus>> listings = new HashMap<>();
    private final Map<StoragePath, Future<Map<StoragePath, FileStatus>>> underWay = new HashMap<>();
    private final Set<StoragePath> missing = new HashSet<>();
  }

  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "hudi-timeline");
            thread.setDaemon(true);
            return thread;
          });

  private final String metadata;
  private final Kept kept;

  QueryStorage(Path basePath, Configuration conf) {
    super(basePath, conf);
    metadata =
        new Path(basePath, HoodieTableMetaClient.METAFOLDER_NAME).toUri().getPath()
            + Path.SEPARATOR;
    kept = new Kept();
  }

  private QueryStorage(QueryStorage other, StoragePath path, StorageConfiguration<?> conf) {
    super(path, conf);
    metadata = other.metadata;
    kept = other.kept;
  }

  /**
   * Reads the table's properties, which are kept. If there are none, Hudi itself would look for
   * them again for five seconds.
   *
   * @throws TableNotFoundException if there are none, nor those that Hudi sets aside while it
   *     writes new ones
   */
  void requireTable(Path basePath) {
    StoragePath directory =
        new StoragePath(basePath.toString(), HoodieTableMetaClient.METAFOLDER_NAME);
    StoragePath properties = new StoragePath(directory, PROPERTIES);
    try {
      content(properties);
    } catch (FileNotFoundException e) {
      if (!isThere(new StoragePath(directory, HoodieTableConfig.HOODIE_PROPERTIES_FILE_BACKUP))) {
        throw new TableNotFoundException(basePath.toString());
      }
    } catch (IOException e) {
      throw new HoodieIOException("cannot read " + properties, e);
    }
  }

  private boolean isThere(StoragePath path) {
    try {
      return exists(path);
    } catch (IOException e) {
      throw new HoodieIOException("cannot look for " + path, e);
    }
  }

  private boolean isMetadata(StoragePath path) {
    return (path.toUri().getPath() + Path.SEPARATOR).startsWith(metadata);
  }

  private FileSystem fs() {
    return (FileSystem) getFileSystem();
  }

  /**
   * Returns an access by another configuration, to which Hudi's readers add what they need. Parts
   * of log files have a scheme of their own.
   */
  @Override
  public HoodieStorage newInstance(StoragePath path, StorageConfiguration<?> conf) {
    return getScheme().equals(path.toUri().getScheme())
        ? new QueryStorage(this, path, conf)
        : super.newInstance(path, conf);
  }

  @Override
  public InputStream open(StoragePath path) throws IOException {
    byte[] content = content(path);
    return content == null ? super.open(path) : new ByteArrayInputStream(content);
  }

  @Override
  public SeekableDataInputStream openSeekable(StoragePath path, int bufferSize, boolean wrapStream)
      throws IOException {
    byte[] content = content(path);
    return content == null
        ? super.openSeekable(path, bufferSize, wrapStream)
        : new HadoopSeekableDataInputStream(new FSDataInputStream(new MemoryStream(content)));
  }

  /** Returns a file's content, or null if it is not kept. */
  private byte[] content(StoragePath path) throws IOException {
    if (!isMetadata(path)) {
      return null;
    }
    if (path.toString().endsWith(INDEX_DEFINITIONS)) {
      // Hudi reads it with each opening, and uses it for indexes that a listing does not need.
      return new byte[0];
    }
    synchronized (kept) {
      SoftReference<byte[]> reference = kept.contents.get(path);
      byte[] content = reference == null ? null : reference.get();
      if (content == null) {
        content = read(path);
        if (content != null && isComplete(path, content)) {
          kept.contents.put(path, new SoftReference<>(content));
        }
      }
      return content;
    }
  }

  private byte[] read(StoragePath path) throws IOException {
    FileStatus status = listed(path);
    if (status == null) {
      try (InputStream stream = super.open(path)) {
        return upToLimit(stream);
      }
    }
    if (status.isDirectory() || status.getLen() > MAX_KEPT_BYTES) {
      return null;
    }
    // To its end, which a file that was replaced since has somewhere else.
    try (InputStream stream = HadoopFiles.open(fs(), status, false)) {
      return upToLimit(stream);
    } catch (IOException e) {
      if (!isReplaceable(path)) {
        throw e;
      }
      // Object stores compare the version that was listed.
      try (InputStream stream = super.open(path)) {
        return upToLimit(stream);
      }
    }
  }

  /** Returns what the listing of the parent directory says of a file; null if there is none. */
  private FileStatus listed(StoragePath path) throws IOException {
    StoragePath parent = path.getParent();
    if (!kept.listings.containsKey(parent) && isTablesOwn(path)) {
      // One request, which also answers which other parts of the metadata exist.
      entries(parent);
    }
    Map<StoragePath, FileStatus> entries = kept.listings.get(parent);
    return entries == null ? null : entries.get(path);
  }

  /** Returns whether a path is the table's properties, and not the metadata table's. */
  private boolean isTablesOwn(StoragePath path) {
    return path.toUri().getPath().equals(metadata + PROPERTIES);
  }

  /** Returns whether a file may be written anew; all others are written once. */
  private static boolean isReplaceable(StoragePath path) {
    return path.getName().startsWith(PROPERTIES);
  }

  /** Reads the rest of a stream; returns null if that is too much to keep. */
  private static byte[] upToLimit(InputStream stream) throws IOException {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    byte[] buffer = new byte[1 << 14];
    for (int read = stream.read(buffer); read >= 0; read = stream.read(buffer)) {
      content.write(buffer, 0, read);
      if (content.size() > MAX_KEPT_BYTES) {
        return null;
      }
    }
    return content.toByteArray();
  }

  /**
   * Returns whether a file is as its writer meant it. Only the properties are ever replaced; Hudi
   * reads them again if they do not have the checksum that is in them.
   */
  private static boolean isComplete(StoragePath path, byte[] content) throws IOException {
    if (!isReplaceable(path)) {
      return true;
    }
    Properties properties = new Properties();
    try (InputStream stream = new ByteArrayInputStream(content)) {
      properties.load(stream);
      return properties.containsKey(HoodieTableConfig.TABLE_CHECKSUM.key())
          && HoodieTableConfig.validateChecksum(properties);
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  @Override
  public StoragePathInfo getPathInfo(StoragePath path) throws IOException {
    FileStatus status = null;
    if (isMetadata(path) && !isReplaceable(path)) {
      synchronized (kept) {
        status = listed(path);
      }
    }
    return status == null || status.isDirectory()
        ? super.getPathInfo(path)
        : HadoopFSUtils.convertToStoragePathInfo(status);
  }

  @Override
  public boolean exists(StoragePath path) throws IOException {
    if (!isMetadata(path)) {
      return super.exists(path);
    }
    synchronized (kept) {
      Map<StoragePath, FileStatus> siblings = kept.listings.get(path.getParent());
      if (siblings != null) {
        return siblings.containsKey(path);
      }
      if (kept.missing.contains(path) || isInMissingDirectory(path)) {
        return false;
      }
      boolean exists = super.exists(path);
      if (!exists) {
        kept.missing.add(path);
      }
      return exists;
    }
  }

  /** Returns whether a listing lacks a directory above, as that of bootstrapped tables' indexes. */
  private boolean isInMissingDirectory(StoragePath path) {
    for (StoragePath above = path.getParent(); isMetadata(above); above = above.getParent()) {
      Map<StoragePath, FileStatus> siblings = kept.listings.get(above.getParent());
      if (siblings != null && !siblings.containsKey(above)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public List<StoragePathInfo> listDirectEntries(StoragePath path) throws IOException {
    return listDirectEntries(path, unused -> true);
  }

  @Override
  public List<StoragePathInfo> listDirectEntries(StoragePath path, StoragePathFilter filter)
      throws IOException {
    if (!isMetadata(path)) {
      return super.listDirectEntries(path, filter);
    }
    List<StoragePathInfo> accepted = new ArrayList<>();
    for (Map.Entry<StoragePath, FileStatus> entry : entries(path).entrySet()) {
      if (filter.accept(entry.getKey())) {
        accepted.add(HadoopFSUtils.convertToStoragePathInfo(entry.getValue()));
      }
    }
    return accepted;
  }

  /** Lists a directory, in the file system's order. */
  private Map<StoragePath, FileStatus> entries(StoragePath directory) throws IOException {
    synchronized (kept) {
      Map<StoragePath, FileStatus> entries = kept.listings.get(directory);
      if (entries == null) {
        Future<Map<StoragePath, FileStatus>> listing = kept.underWay.remove(directory);
        entries = listing == null ? list(directory) : result(listing, directory);
        kept.listings.put(directory, entries);
        listTimeline(directory, entries);
      }
      return entries;
    }
  }

  /** Begins to list the timeline when it is known to exist: the properties are read meanwhile. */
  private void listTimeline(StoragePath directory, Map<StoragePath, FileStatus> entries) {
    StoragePath timeline = new StoragePath(directory, HoodieTableMetaClient.TIMELINEFOLDER_NAME);
    boolean isOfTable = metadata.equals(directory.toUri().getPath() + Path.SEPARATOR);
    if (isOfTable && entries.containsKey(timeline)) {
      kept.underWay.put(timeline, THREADS.submit(() -> list(timeline)));
    }
  }

  private Map<StoragePath, FileStatus> list(StoragePath directory) throws IOException {
    Map<StoragePath, FileStatus> entries = new LinkedHashMap<>();
    for (FileStatus status : fs().listStatus(HadoopFSUtils.convertToHadoopPath(directory))) {
      entries.put(HadoopFSUtils.convertToStoragePath(status.getPath()), status);
    }
    return entries;
  }

  private Map<StoragePath, FileStatus> result(
      Future<Map<StoragePath, FileStatus>> listing, StoragePath directory) throws IOException {
    try {
      return listing.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException)
          new InterruptedIOException("interrupted while listing " + directory).initCause(e);
    } catch (ExecutionException e) {
      return list(directory);
    }
  }
}
