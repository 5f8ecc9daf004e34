package io.pyhudi.hive.metadata;

import io.pyhudi.hive.table.TableSize;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.fs.Path;

/**
 * A read-only table that describes a Hudi table: its files, history, indexes or column_ranges.
 *
 * <p>Its location is an empty directory of its own beside the Hudi table: MapReduce knows the
 * tables of a job by their locations only, and those below a table's location as that table.
 */
public final class MetadataView {
  /** The table property that names a view when it is created. */
  public static final String PROPERTY = "hudi.metadata.view";

  private static final String DIRECTORY = ".pyhudi-views";
  private static final long FEW_BYTES = 1L << 20;
  private static final long MANY_BYTES = 1L << 28;

  private final Path basePath;
  private final String name;

  private MetadataView(Path basePath, String name) {
    this.basePath = basePath;
    this.name = name;
  }

  /** Returns the view at a table's location; null if it is no view's location. */
  public static MetadataView of(Path location) {
    Path table = location.getParent();
    Path directory = table == null ? null : table.getParent();
    Path parent = directory == null ? null : directory.getParent();
    return parent != null && directory.getName().equals(DIRECTORY)
        ? new MetadataView(new Path(parent, table.getName()), location.getName())
        : null;
  }

  /**
   * Returns the view that a table's location and property name; null if the table is none.
   *
   * @param location the view's location, or the base path of the Hudi table
   * @param property the value of {@link #PROPERTY}, or null
   * @throws IllegalArgumentException if the two name different views
   */
  public static MetadataView of(Path location, String property) {
    MetadataView view = of(location);
    if (view == null && property != null && location.getParent() == null) {
      throw new IllegalArgumentException(
          location
              + " is the root of its store: there is no place beside it for a view's location");
    }
    if (view == null) {
      return property == null ? null : new MetadataView(location, property.trim());
    }
    if (!Objects.equals(view.name, property)) {
      throw new IllegalArgumentException(
          PROPERTY + " is " + property + ", but " + location + " is the location of " + view.name);
    }
    return view;
  }

  /** Returns the base path of the Hudi table. */
  public Path basePath() {
    return basePath;
  }

  /** Returns what is described: files, history, indexes or column_ranges. */
  public String name() {
    return name;
  }

  public Path location() {
    Path directory = new Path(basePath.getParent(), DIRECTORY);
    return new Path(new Path(directory, basePath.getName()), name);
  }

  /**
   * Returns an estimate of the view's size as Hive's basic statistics: a file's row is small, and
   * the ranges of all columns are many.
   */
  public Map<String, String> sizeEstimate() {
    return TableSize.statistics(1, name.equals("column_ranges") ? MANY_BYTES : FEW_BYTES);
  }

  @Override
  public String toString() {
    return "metadata view " + name + " of " + basePath;
  }
}
