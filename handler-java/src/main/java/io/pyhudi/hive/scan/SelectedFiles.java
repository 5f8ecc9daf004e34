package io.pyhudi.hive.scan;

import io.pyhudi.hive.protocol.SelectedRows;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.table.Slice;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The base files of which a scan reads some rows only, by the service's answer.
 *
 * <p>Rows of a base file are those of its slice only if no log file changes them: in a slice with
 * log files the answer is about rows whose keys they do not name. A file of another size is another
 * file.
 */
final class SelectedFiles {
  private static final Logger LOG = LoggerFactory.getLogger(SelectedFiles.class);
  private static final SelectedFiles NONE =
      new SelectedFiles(Collections.emptyMap(), Slice::isPlainParquet);

  private final Map<String, FileRows> byFile;
  private final Predicate<Slice> readable;

  private SelectedFiles(Map<String, FileRows> byFile, Predicate<Slice> readable) {
    this.byFile = byFile;
    this.readable = readable;
  }

  /** Returns a selection that has every row of every file. */
  static SelectedFiles none() {
    return NONE;
  }

  /**
   * Reads an answer. Files of which it says nothing that is consistent are read whole.
   *
   * @param answers null for none
   */
  static SelectedFiles of(List<SelectedRows> answers) {
    if (answers == null) {
      return NONE;
    }
    Map<String, FileRows> byFile = new HashMap<>();
    Set<String> wrong = new HashSet<>();
    for (SelectedRows answer : answers) {
      String key = key(answer.getPartitionPath(), answer.getFileName());
      try {
        if (byFile.put(key, FileRows.of(answer)) != null) {
          wrong.add(key);
        }
      } catch (IllegalArgumentException e) {
        wrong.add(key);
      }
    }
    if (!wrong.isEmpty()) {
      LOG.warn("the selected rows of {} contradict themselves, these files are read whole", wrong);
      byFile.keySet().removeAll(wrong);
    }
    return new SelectedFiles(byFile, Slice::isPlainParquet);
  }

  /**
   * Returns the same selection for a scan that joins slices with log files.
   *
   * @param leastBytes the size from which a base file is shared between two readers: each of them
   *     reads its footer, which is not worth it for a small file
   */
  SelectedFiles joiningSlices(long leastBytes) {
    return new SelectedFiles(
        byFile,
        slice ->
            slice.isPlainParquet()
                || (slice.hasPlainBase() && sizeOfBase(slice) >= Math.max(1, leastBytes)));
  }

  boolean isEmpty() {
    return byFile.isEmpty();
  }

  /**
   * Returns whether a slice's base file is read by Hive's readers, without the rows that log files
   * change, and these by Hudi.
   */
  boolean joins(Slice slice) {
    return !slice.isPlainParquet() && readable.test(slice);
  }

  /**
   * Returns the rows to read of a slice's base file, or null if all of them are read. If the slice
   * has log files, this is about rows that these do not name.
   */
  FileRows rows(Slice slice) {
    if (byFile.isEmpty() || !readable.test(slice)) {
      return null;
    }
    HoodieBaseFile file = slice.fileSlice().getBaseFile().get();
    FileRows rows = byFile.get(key(slice.partitionPath(), file.getFileName()));
    boolean isSelected =
        rows != null && rows.fileSize() == file.getFileSize() && rows.selected() < rows.rows();
    return isSelected ? rows : null;
  }

  private static long sizeOfBase(Slice slice) {
    return slice.fileSlice().getBaseFile().get().getFileSize();
  }

  private static String key(String partitionPath, String fileName) {
    return partitionPath + "/" + fileName;
  }
}
