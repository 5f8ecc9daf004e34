package io.pyhudi.hive.table;

import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.hudi.BaseHoodieTableFileIndex.PartitionPath;
import org.apache.hudi.common.model.FileSlice;

/**
 * What Hudi's file index has listed of one opened table, for all who list it. Each partition is
 * listed once.
 *
 * <p>The slices of a large table take much memory, so they are given up if it runs short.
 */
final class SharedListing {
  private static final class Known {
    private List<PartitionPath> partitions;
    private final Map<PartitionPath, List<FileSlice>> slices = new HashMap<>();
  }

  private SoftReference<Known> reference = new SoftReference<>(null);

  private Known known() {
    Known known = reference.get();
    if (known == null) {
      known = new Known();
      reference = new SoftReference<>(known);
    }
    return known;
  }

  /**
   * Returns all partitions of the table.
   *
   * @param index opens the index; it is called only if they are not known
   */
  synchronized List<PartitionPath> partitions(Supplier<FileListing> index) {
    Known known = known();
    if (known.partitions == null) {
      known.partitions = index.get().partitions();
    }
    return known.partitions;
  }

  /**
   * Returns the slices of some partitions.
   *
   * @param index opens the index; it is called only if a partition's slices are not known
   */
  synchronized Map<PartitionPath, List<FileSlice>> slices(
      Collection<PartitionPath> partitions, Supplier<FileListing> index) {
    Known known = known();
    List<PartitionPath> missing = new ArrayList<>(partitions);
    missing.removeIf(known.slices::containsKey);
    if (!missing.isEmpty()) {
      known.slices.putAll(index.get().slices(missing));
    }
    Map<PartitionPath, List<FileSlice>> found = new HashMap<>();
    partitions.forEach(partition -> found.put(partition, known.slices.get(partition)));
    return found;
  }
}
