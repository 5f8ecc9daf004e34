package io.pyhudi.hive.table;

import io.pyhudi.hive.protocol.TableView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.BaseHoodieTableFileIndex.PartitionPath;
import org.apache.hudi.common.model.FileSlice;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A listing of the partitions below some locations of a table. */
@SuppressWarnings("try")
public final class TableListing implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TableListing.class);

  private final HudiTable table;
  private final SharedListing shared;
  private final List<Path> locations;
  private final Collection<Path> indexed;
  private final Map<String, PartitionPath> partitions = new LinkedHashMap<>();

  /** Hudi's index, from the metadata table if there is one; null as long as it is not needed. */
  private FileListing index;

  /** Whether the directories are listed instead, because the metadata table cannot be read. */
  private boolean ofDirectories;

  TableListing(HudiTable table, SharedListing shared, List<Path> locations) {
    this.table = table;
    this.locations = locations;
    // Without a metadata table the other directories would be listed for nothing.
    boolean isOfTable = table.hasMetadataTable() || table.isScannedWhole(locations);
    this.shared = isOfTable ? shared : new SharedListing();
    this.indexed = isOfTable ? Collections.singletonList(table.basePath()) : locations;
    List<String> prefixes = new ArrayList<>();
    for (Path location : locations) {
      prefixes.add(relative(location));
    }
    for (PartitionPath partition : listPartitions()) {
      if (prefixes.stream().anyMatch(prefix -> isBelow(partition.getPath(), prefix))) {
        partitions.put(partition.getPath(), partition);
      }
    }
  }

  private String relative(Path location) {
    String base = Path.getPathWithoutSchemeAndAuthority(table.basePath()).toString();
    String path = Path.getPathWithoutSchemeAndAuthority(location).toString();
    return path.length() <= base.length() ? "" : path.substring(base.length() + 1);
  }

  private static boolean isBelow(String partition, String prefix) {
    return prefix.isEmpty() || partition.equals(prefix) || partition.startsWith(prefix + "/");
  }

  private List<PartitionPath> listPartitions() {
    try {
      return shared.partitions(this::index);
    } catch (RuntimeException e) {
      return insteadOfMetadataTable(e).partitions();
    }
  }

  /** Returns the partition paths relative to the base path. */
  public List<String> partitions() {
    return new ArrayList<>(partitions.keySet());
  }

  /** Returns the slices of some partitions as the view reads them, by partition path. */
  public Map<String, List<Slice>> slices(Collection<String> names, TableView view) {
    List<PartitionPath> paths = names.stream().map(partitions::get).collect(Collectors.toList());
    Map<String, List<Slice>> slices = new LinkedHashMap<>();
    if (!paths.isEmpty()) {
      load(paths).forEach((path, found) -> slices.put(path.getPath(), toSlices(found, view)));
    }
    return slices;
  }

  /** Returns the names of all files in some partitions, old versions included. */
  public Set<String> files(Collection<String> partitions) throws IOException {
    try {
      return index().files(partitions);
    } catch (Exception e) {
      LOG.warn("{}: its metadata table cannot be listed", table.basePath(), e);
    }
    try (FileListing directories = table.index(locations, false)) {
      return directories.files(partitions);
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    }
  }

  private Map<PartitionPath, List<FileSlice>> load(List<PartitionPath> paths) {
    if (ofDirectories) {
      return index.slices(paths);
    }
    try {
      return shared.slices(paths, this::index);
    } catch (RuntimeException e) {
      return insteadOfMetadataTable(e).slices(paths);
    }
  }

  /** Returns the index whose results others can use, too, if it is of the whole table. */
  private FileListing index() {
    if (index == null) {
      index = table.index(indexed, true);
    }
    return index;
  }

  private FileListing insteadOfMetadataTable(RuntimeException e) {
    LOG.warn(
        "{}: its metadata table cannot be listed, listing the directories", table.basePath(), e);
    closeQuietly();
    ofDirectories = true;
    index = table.index(locations, false);
    return index;
  }

  private void closeQuietly() {
    try {
      close();
    } catch (IOException | RuntimeException e) {
      LOG.debug("{}: its metadata table cannot be closed", table.basePath(), e);
    }
  }

  static List<Slice> toSlices(List<FileSlice> found, TableView view) {
    List<Slice> slices = new ArrayList<>();
    for (FileSlice slice : found) {
      if (view == TableView.SNAPSHOT) {
        slices.add(Slice.snapshot(slice));
      } else if (slice.getBaseFile().isPresent()) {
        slices.add(Slice.readOptimized(slice));
      }
    }
    return slices;
  }

  @Override
  public void close() throws IOException {
    if (index == null) {
      return;
    }
    try {
      index.close();
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    } finally {
      index = null;
    }
  }
}
