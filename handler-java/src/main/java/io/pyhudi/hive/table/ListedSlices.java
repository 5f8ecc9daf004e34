package io.pyhudi.hive.table;

import io.pyhudi.hive.protocol.KeptSlices;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.HoodieTableVersion;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The slices that the pruning service lists, as Hudi describes slices, for every engine. */
public final class ListedSlices {
  private static final Logger LOG = LoggerFactory.getLogger(ListedSlices.class);

  /** With a scheme it would be a path of its own. */
  private static final Pattern ABSOLUTE = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]*:/");

  private final HoodieTableMetaClient metaClient;
  private final KeptSlices kept;
  private final Iterator<String> names;
  private final Iterator<Long> sizes;

  private ListedSlices(HoodieTableMetaClient metaClient, KeptSlices kept) {
    this.metaClient = metaClient;
    this.kept = kept;
    this.names = kept.getFileNames().iterator();
    this.sizes = kept.getFileSizes().iterator();
  }

  /**
   * Returns whether a list of the service can stand for Hudi's of the newest state: it has neither
   * the base files of bootstrapped tables nor, where directories are listed, the blocks of the
   * files. In tables of version 6 Hudi assigns log files to slices by the modification times of the
   * timeline's files, which the timeline's digest does not cover.
   */
  public static boolean arePossible(HoodieTableMetaClient metaClient) {
    HoodieTableConfig config = metaClient.getTableConfig();
    return config.isMetadataTableAvailable()
        && config.getTableVersion().greaterThanOrEquals(HoodieTableVersion.EIGHT)
        && !config.getBootstrapBasePath().isPresent();
  }

  /** Returns the digest of the active timeline by which the pruning service knows its state. */
  public static byte[] timelineDigest(HoodieTableMetaClient metaClient) {
    return LinesDigest.of(
        metaClient
            .getActiveTimeline()
            .getInstantsAsStream()
            .map(i -> i.requestedTime() + "." + i.getAction() + "." + i.getState())
            .collect(Collectors.toList()));
  }

  /**
   * Returns the slices that a query has to read. The result is empty, and the reason is logged, if
   * the service saw another state of the table, or if its list contradicts itself.
   */
  public static Optional<List<FileSlice>> of(HoodieTableMetaClient metaClient, KeptSlices kept) {
    try {
      if (!MessageDigest.isEqual(kept.getTimelineDigest(), timelineDigest(metaClient))) {
        LOG.info(
            "{}: the service's list of files is of another state of the table, Hudi lists them",
            metaClient.getBasePath());
        return Optional.empty();
      }
      return Optional.of(new ListedSlices(metaClient, kept).fileSlices());
    } catch (RuntimeException e) {
      LOG.warn(
          "{}: the service's list of files is wrong, Hudi lists them", metaClient.getBasePath(), e);
      return Optional.empty();
    }
  }

  private List<FileSlice> fileSlices() {
    int count = kept.getFileIdsSize();
    require(kept.getBaseInstantsSize() == count, "base instants");
    require(kept.getHaveBaseFileSize() == count, "flags of base files");
    require(kept.getLogFilesSize() == count, "numbers of log files");
    require(kept.getFileSizesSize() == kept.getFileNamesSize(), "file sizes");
    List<FileSlice> slices = new ArrayList<>(count);
    List<Integer> partitionSlices = kept.getPartitionSlices();
    require(partitionSlices.size() == kept.getPartitionsSize(), "slices of partitions");
    for (int partition = 0; partition < partitionSlices.size(); partition++) {
      String path = kept.getPartitions().get(partition);
      require(isBelow(path), "names of partitions, which are not below the table,");
      for (int left = partitionSlices.get(partition); left > 0; left--) {
        slices.add(fileSlice(path, slices.size()));
      }
    }
    require(slices.size() == count, "slices");
    require(!names.hasNext(), "files");
    return slices;
  }

  private FileSlice fileSlice(String partition, int number) {
    StoragePath directory = FSUtils.constructAbsolutePath(metaClient.getBasePath(), partition);
    FileSlice slice =
        new FileSlice(partition, kept.getBaseInstants().get(number), kept.getFileIds().get(number));
    if (kept.getHaveBaseFile().get(number)) {
      slice.setBaseFile(new HoodieBaseFile(nextFile(directory)));
    }
    for (int left = kept.getLogFiles().get(number); left > 0; left--) {
      slice.addLogFile(new HoodieLogFile(nextFile(directory)));
    }
    require(!slice.isEmpty(), "files of each slice");
    return slice;
  }

  /** Returns a file as Hudi's metadata table describes it. */
  private StoragePathInfo nextFile(StoragePath directory) {
    HoodieStorage storage = metaClient.getStorage();
    String name = names.next();
    require(isName(name), "names of files, which are not below their partition,");
    return new StoragePathInfo(
        new StoragePath(directory, name),
        sizes.next(),
        false,
        (short) 0,
        storage.getDefaultBlockSize(directory),
        0);
  }

  /** Returns whether a partition's path, joined to the table's, stays below it. */
  static boolean isBelow(String partition) {
    return !partition.startsWith("/")
        && !ABSOLUTE.matcher(partition).lookingAt()
        && Arrays.stream(partition.split("/")).noneMatch(ListedSlices::isDots);
  }

  /** Returns whether a text is the name of one file. */
  static boolean isName(String name) {
    return !name.isEmpty() && name.indexOf('/') < 0 && !isDots(name);
  }

  private static boolean isDots(String part) {
    return part.equals(".") || part.equals("..");
  }

  private static void require(boolean holds, String what) {
    if (!holds) {
      throw new IllegalArgumentException("the " + what + " do not fit the rest");
    }
  }
}
