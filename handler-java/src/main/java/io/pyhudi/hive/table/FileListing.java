package io.pyhudi.hive.table;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.common.config.HoodieMetadataConfig;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.HoodieEngineContext;
import org.apache.hudi.common.engine.HoodieLocalEngineContext;
import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieTableQueryType;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.exception.HoodieMetadataException;
import org.apache.hudi.metadata.HoodieBackedTableMetadata;
import org.apache.hudi.metadata.HoodieTableMetadata;
import org.apache.hudi.metadata.MetadataPartitionType;
import org.apache.hudi.storage.StoragePath;

/**
 * Hudi's own file index of one table at an instant: partitions first, then the slices of the
 * requested partitions.
 */
@SuppressWarnings("try")
public final class FileListing extends BaseHoodieTableFileIndex {
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

  /**
   * Returns the slices of some partitions, those of them that exist.
   *
   * @param metaClient of the table; it is not touched, as the index would reload its timeline
   * @param asOf the instant
   */
  public static Map<String, List<FileSlice>> slices(
      HoodieTableMetaClient metaClient, String asOf, Set<String> partitions) throws Exception {
    HoodieTableMetaClient own =
        HoodieTableMetaClient.builder()
            .setConf(metaClient.getStorageConf().newInstance())
            .setBasePath(metaClient.getBasePath())
            .build();
    TypedProperties properties = new TypedProperties();
    boolean fromMetadataTable = own.getTableConfig().isMetadataTableAvailable();
    properties.setProperty(HoodieMetadataConfig.ENABLE.key(), Boolean.toString(fromMetadataTable));
    List<StoragePath> paths = Collections.singletonList(own.getBasePath());
    Map<String, List<FileSlice>> slices = new HashMap<>();
    try (FileListing listing = new FileListing(own, paths, properties, Option.of(asOf))) {
      List<PartitionPath> found = new ArrayList<>(listing.partitions());
      found.removeIf(partition -> !partitions.contains(partition.getPath()));
      listing.slices(found).forEach((path, of) -> slices.put(path.getPath(), of));
    }
    return slices;
  }

  /** With several file groups of lists of files, Hudi would look for a partition in one of them. */
  @Override
  protected HoodieTableMetadata createMetadataTable(HoodieEngineContext engine) {
    HoodieTableMetadata metadata = super.createMetadataTable(engine);
    if (metadata instanceof HoodieBackedTableMetadata) {
      int groups =
          ((HoodieBackedTableMetadata) metadata)
              .getNumFileGroupsForPartition(MetadataPartitionType.FILES);
      if (groups != 1) {
        throw new HoodieMetadataException(
            getBasePath() + ": expected one file group of file lists, but there are " + groups);
      }
    }
    return metadata;
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
