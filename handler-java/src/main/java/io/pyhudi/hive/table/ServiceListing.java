package io.pyhudi.hive.table;

import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.TableView;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableVersion;
import org.apache.hudi.storage.HoodieStorage;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The slices that the pruning service lists, in the form in which Hudi's index would list them. */
public final class ServiceListing {
  private static final Logger LOG = LoggerFactory.getLogger(ServiceListing.class);

  private final HudiTable table;
  private final KeptSlices kept;
  private final Iterator<String> names;
  private final Iterator<Long> sizes;

  private ServiceListing(HudiTable table, KeptSlices kept) {
    this.table = table;
    this.kept = kept;
    this.names = kept.getFileNames().iterator();
    this.sizes = kept.getFileSizes().iterator();
  }

  /**
   * Returns whether a list of the service can stand for Hudi's: it has neither the base files of
   * bootstrapped tables nor, where directories are listed, the blocks of the files. In tables of
   * version 6 Hudi assigns log files to slices by the modification times of the timeline's files,
   * which the timeline's digest does not cover. Hudi lists earlier states itself, as only it knows
   * how it would.
   */
  public static boolean isPossible(HudiTable table) {
    HoodieTableConfig config = table.metaClient().getTableConfig();
    return table.stateText() == null
        && table.hasMetadataTable()
        && config.getTableVersion().greaterThanOrEquals(HoodieTableVersion.EIGHT)
        && !config.getBootstrapBasePath().isPresent();
  }

  /**
   * Returns the slices that a query has to read. The result is empty, and the reason is logged, if
   * the service saw another state of the table, or if its list contradicts itself.
   *
   * @param view the view that the service was asked for
   */
  public static Optional<List<Slice>> slices(HudiTable table, KeptSlices kept, TableView view) {
    try {
      if (!MessageDigest.isEqual(kept.getTimelineDigest(), table.timelineDigest())) {
        LOG.info(
            "{}: the service's list of files is of another state of the table, Hudi lists them",
            table.basePath());
        return Optional.empty();
      }
      return Optional.of(TableListing.toSlices(new ServiceListing(table, kept).fileSlices(), view));
    } catch (RuntimeException e) {
      LOG.warn("{}: the service's list of files is wrong, Hudi lists them", table.basePath(), e);
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
      for (int left = partitionSlices.get(partition); left > 0; left--) {
        slices.add(fileSlice(path, slices.size()));
      }
    }
    require(slices.size() == count, "slices");
    require(!names.hasNext(), "files");
    return slices;
  }

  private FileSlice fileSlice(String partition, int number) {
    StoragePath directory =
        FSUtils.constructAbsolutePath(table.metaClient().getBasePath(), partition);
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
    HoodieStorage storage = table.metaClient().getStorage();
    return new StoragePathInfo(
        new StoragePath(directory, names.next()),
        sizes.next(),
        false,
        (short) 0,
        storage.getDefaultBlockSize(directory),
        0);
  }

  private static void require(boolean holds, String what) {
    if (!holds) {
      throw new IllegalArgumentException("the " + what + " do not fit the rest");
    }
  }
}
