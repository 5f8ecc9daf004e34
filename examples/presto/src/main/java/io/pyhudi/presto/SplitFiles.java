package io.pyhudi.presto;

import com.facebook.presto.hudi.HudiFile;
import com.facebook.presto.hudi.HudiSplit;
import com.facebook.presto.spi.ConnectorSplit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;

/** The files of a table's splits as the service names them. A split is a file slice. */
final class SplitFiles {
  private final Path table;
  private final boolean merges;

  /**
   * @param merges whether the query reads log files
   */
  SplitFiles(String basePath, boolean merges) {
    this.table = plain(basePath);
    this.merges = merges;
  }

  /** Returns splits by the path of their partition, relative to the table's. */
  Map<String, List<ConnectorSplit>> byPartition(List<ConnectorSplit> splits) {
    Map<String, List<ConnectorSplit>> found = new LinkedHashMap<>();
    for (ConnectorSplit split : splits) {
      found.computeIfAbsent(partition((HudiSplit) split), path -> new ArrayList<>()).add(split);
    }
    return found;
  }

  private String partition(HudiSplit split) {
    HudiFile file = split.getBaseFile().orElseGet(() -> split.getLogFiles().get(0));
    String directory = plain(file.getPath()).getParent().toString();
    if (directory.equals(table.toString())) {
      return "";
    }
    String prefix = table + Path.SEPARATOR;
    if (!directory.startsWith(prefix)) {
      throw new IllegalArgumentException(file.getPath() + " is not in the table " + table);
    }
    return directory.substring(prefix.length());
  }

  /** Returns the tokens of a split's files. */
  List<String> tokens(ConnectorSplit split) {
    List<String> tokens = new ArrayList<>();
    ((HudiSplit) split).getBaseFile().ifPresent(file -> tokens.add(name(file)));
    List<HudiFile> logs = merges ? ((HudiSplit) split).getLogFiles() : Collections.emptyList();
    logs.forEach(file -> tokens.add(name(file) + "@" + file.getLength()));
    return tokens;
  }

  private static String name(HudiFile file) {
    return new Path(file.getPath()).getName();
  }

  /** Listings name the storage in several ways: file:/t, file:///t, /t. */
  private static Path plain(String path) {
    return new Path(new Path(path).toUri().getPath());
  }
}
