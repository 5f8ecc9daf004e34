package io.pyhudi.hive.table;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.HoodieEngineContext;
import org.apache.hudi.common.engine.HoodieLocalEngineContext;
import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieTableQueryType;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.metadata.HoodieTableMetadata;
import org.apache.hudi.storage.StoragePath;

/**
 * Hudi's own file index of one table at an instant: partitions first, then the slices of the
 * requested partitions.
 */
@SuppressWarnings("try")
final class FileListing extends BaseHoodieTableFileIndex {
  private final HoodieEngineContext engine;

  /**
   * @param asOf the instant; empty for the latest one
   */
  FileListing(
      HoodieTableMetaClient metaClient,
      List<StoragePath> locations,
      TypedProperties properties,
      Option<String> asOf) {
    super(
        new HoodieLocalEngineContext(metaClient.getStorageConf()),
        metaClient,
        properties,
        HoodieTableQueryType.SNAPSHOT,
        locations,
        asOf,
        false,
        false,
        false,
        new NoopCache(),
        true,
        Option.empty(),
        Option.empty());
    engine = new HoodieLocalEngineContext(metaClient.getStorageConf());
  }

  @Override
  protected Object[] parsePartitionColumnValues(String[] columns, String partitionPath) {
    // Hive has the values; the index only counts them.
    return new Object[columns.length];
  }

  List<PartitionPath> partitions() {
    return getAllQueryPartitionPaths();
  }

  /** Returns the names of all files in some partitions, old versions included. */
  Set<String> files(Collection<String> partitions) throws Exception {
    List<String> directories = new ArrayList<>();
    for (String partition : partitions) {
      directories.add(FSUtils.constructAbsolutePath(getBasePath(), partition).toString());
    }
    Set<String> files = new HashSet<>();
    try (HoodieTableMetadata metadata = createMetadataTable(engine)) {
      metadata
          .getAllFilesInPartitions(directories)
          .values()
          .forEach(listed -> listed.forEach(file -> files.add(file.getPath().getName())));
    }
    return files;
  }

  Map<PartitionPath, List<FileSlice>> slices(Collection<PartitionPath> partitions) {
    return getInputFileSlices(new ArrayList<>(partitions).toArray(new PartitionPath[0]));
  }
}
