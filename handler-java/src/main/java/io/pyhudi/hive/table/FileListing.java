package io.pyhudi.hive.table;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.HoodieLocalEngineContext;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieTableQueryType;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.storage.StoragePath;

/**
 * Hudi's own file index of one table at an instant: partitions first, then the slices of the
 * requested partitions.
 */
@SuppressWarnings("try")
final class FileListing extends BaseHoodieTableFileIndex {
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
        true,
        new NoopCache(),
        true,
        Option.empty(),
        Option.empty());
  }

  @Override
  protected Object[] parsePartitionColumnValues(String[] columns, String partitionPath) {
    // Hive has the values; the index only counts them.
    return new Object[columns.length];
  }

  List<PartitionPath> partitions() {
    return getAllQueryPartitionPaths();
  }

  Map<PartitionPath, List<FileSlice>> slices(Collection<PartitionPath> partitions) {
    return getInputFileSlices(new ArrayList<>(partitions).toArray(new PartitionPath[0]));
  }
}
