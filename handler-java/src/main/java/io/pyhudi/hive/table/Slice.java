package io.pyhudi.hive.table;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;

/** One file slice as a query reads it: a base file, log files, or both. */
public final class Slice {
  private final FileSlice slice;
  private final List<String> tokens;
  private final long bytes;

  private Slice(FileSlice slice, List<String> tokens, long bytes) {
    this.slice = slice;
    this.tokens = Collections.unmodifiableList(tokens);
    this.bytes = bytes;
  }

  /** Creates a slice with its log files. */
  public static Slice snapshot(FileSlice slice) {
    List<String> tokens = baseTokens(slice);
    long bytes = baseBytes(slice);
    List<HoodieLogFile> logs = new ArrayList<>();
    slice.getLogFiles().forEach(logs::add);
    for (HoodieLogFile log : logs) {
      tokens.add(log.getFileName() + "@" + log.getFileSize());
      bytes += Math.max(0, log.getFileSize());
    }
    return new Slice(slice, tokens, bytes);
  }

  /** Creates a slice of the base file alone. */
  public static Slice readOptimized(FileSlice slice) {
    FileSlice base = new FileSlice(slice.getFileGroupId(), slice.getBaseInstantTime());
    slice.getBaseFile().ifPresent(base::setBaseFile);
    return new Slice(base, baseTokens(slice), baseBytes(slice));
  }

  private static List<String> baseTokens(FileSlice slice) {
    List<String> tokens = new ArrayList<>();
    if (slice.getBaseFile().isPresent()) {
      tokens.add(slice.getBaseFile().get().getFileName());
    }
    return tokens;
  }

  private static long baseBytes(FileSlice slice) {
    return slice.getBaseFile().isPresent()
        ? Math.max(0, slice.getBaseFile().get().getFileSize())
        : 0;
  }

  /** Returns the partition path relative to the table's base path; "" for none. */
  public String partitionPath() {
    return slice.getPartitionPath();
  }

  /**
   * Returns a token for each file that identifies its bytes: a base file's name, a log file's
   * "name@length".
   */
  public List<String> tokens() {
    return tokens;
  }

  /** Returns the tokens, by which a slice is known to be the same one in two listings. */
  public Set<String> tokenSet() {
    return new HashSet<>(tokens);
  }

  /** Returns the names of its files. */
  List<String> fileNames() {
    List<String> names = baseTokens(slice);
    slice.getLogFiles().forEach(log -> names.add(log.getFileName()));
    return names;
  }

  public long bytes() {
    return bytes;
  }

  public FileSlice fileSlice() {
    return slice;
  }

  /** Returns whether the slice is one Parquet file whose rows need no merging. */
  public boolean isPlainParquet() {
    return !slice.hasLogFiles() && hasPlainBase();
  }

  /** Returns whether the slice has a Parquet file with all columns, and perhaps log files. */
  public boolean hasPlainBase() {
    if (!slice.getBaseFile().isPresent()) {
      return false;
    }
    HoodieBaseFile base = slice.getBaseFile().get();
    return base.getFileName().endsWith(".parquet") && !base.getBootstrapBaseFile().isPresent();
  }
}
