package io.pyhudi.trino;

import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.PruneResponse;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * The files of one state of a table that a scan has to read.
 *
 * @param table the path of the table, without scheme and authority
 * @param sizes of the files, in bytes, by their paths below the table's
 * @param considered how many files the state has
 */
record KeptFiles(String table, Map<String, Long> sizes, long considered) {

  /**
   * @throws TrinoException if the answer has no list, or one with log files
   */
  static KeptFiles of(String location, PruneResponse answer) {
    KeptSlices kept = answer.getKept();
    if (kept == null) {
      throw unsupported(location + " has too many files to read for the service to list them");
    }
    if (kept.getLogFiles().stream().anyMatch(logs -> logs > 0)) {
      throw unsupported(location + " has log files, which this connector does not merge");
    }
    Map<String, Long> sizes = new HashMap<>();
    Iterator<String> names = kept.getFileNames().iterator();
    Iterator<Long> bytes = kept.getFileSizes().iterator();
    List<String> partitions = kept.getPartitions();
    for (int i = 0; i < partitions.size(); i++) {
      String prefix = partitions.get(i).isEmpty() ? "" : partitions.get(i) + "/";
      for (int slice = 0; slice < kept.getPartitionSlices().get(i); slice++) {
        sizes.put(prefix + names.next(), bytes.next());
      }
    }
    return new KeptFiles(pathOf(location), sizes, answer.getCounts().getFilesConsidered());
  }

  private static TrinoException unsupported(String message) {
    return new TrinoException(StandardErrorCode.NOT_SUPPORTED, message);
  }

  /** Returns a file's path below the table's. */
  String below(String file) {
    String path = pathOf(file);
    if (!path.startsWith(table + "/")) {
      throw unsupported(file + " is not in the directory " + table);
    }
    return path.substring(table.length() + 1);
  }

  String text() {
    return sizes.size() + " of " + considered;
  }

  /** Locations name the storage in several ways: file:/t, file:///t, /t. */
  private static String pathOf(String location) {
    String path = location.replaceFirst("^[A-Za-z0-9+.-]+:(//[^/]*)?", "");
    return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }
}
