package io.pyhudi.hive.scan;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathInfo;

/** A file slice in the serialized form in which the merging task receives it. */
public final class MergedSlice {
  private final String basePath;
  private final String instant;
  private final String stateKey;
  private final FileSlice slice;
  private Set<String> commits = Collections.emptySet();

  private MergedSlice(String basePath, String instant, String stateKey, FileSlice slice) {
    this.basePath = basePath;
    this.instant = instant;
    this.stateKey = stateKey;
    this.slice = slice;
  }

  static MergedSlice of(Path basePath, FileSlice slice, String instant, String stateKey) {
    if (slice.hasBootstrapBase()) {
      throw new UnsupportedOperationException(
          basePath + ": files of a bootstrapped table cannot be read; rewrite them by clustering");
    }
    return new MergedSlice(basePath.toString(), instant, stateKey, slice);
  }

  public Path basePath() {
    return new Path(basePath);
  }

  /** Returns the newest instant that the query reads. */
  public String instant() {
    return instant;
  }

  /** Returns a key of the state of the table that the query reads. */
  public String stateKey() {
    return stateKey;
  }

  /** Reads only the rows that these commits wrote; all rows if there are none. */
  MergedSlice ofCommits(Set<String> requestedTimes) {
    this.commits = requestedTimes;
    return this;
  }

  /** Returns the commits whose rows are read; empty for all. */
  public Set<String> commits() {
    return commits;
  }

  public FileSlice slice() {
    return slice;
  }

  Path anyFile() {
    StoragePath path =
        slice.getBaseFile().isPresent()
            ? slice.getBaseFile().get().getStoragePath()
            : slice.getLatestLogFile().get().getPath();
    return HadoopFSUtils.convertToHadoopPath(path);
  }

  void write(DataOutput out) throws IOException {
    Text.writeString(out, basePath);
    Text.writeString(out, instant);
    Text.writeString(out, stateKey);
    Text.writeString(out, slice.getPartitionPath());
    Text.writeString(out, slice.getBaseInstantTime());
    Text.writeString(out, slice.getFileId());
    out.writeBoolean(slice.getBaseFile().isPresent());
    if (slice.getBaseFile().isPresent()) {
      HoodieBaseFile base = slice.getBaseFile().get();
      writeFile(out, base.getStoragePath(), base.getFileSize());
    }
    List<HoodieLogFile> logs = new ArrayList<>();
    slice.getLogFiles().forEach(logs::add);
    out.writeInt(logs.size());
    for (HoodieLogFile log : logs) {
      writeFile(out, log.getPath(), log.getFileSize());
    }
    out.writeInt(commits.size());
    for (String commit : commits) {
      Text.writeString(out, commit);
    }
  }

  private static void writeFile(DataOutput out, StoragePath path, long size) throws IOException {
    Text.writeString(out, path.toString());
    out.writeLong(size);
  }

  static MergedSlice read(DataInput in) throws IOException {
    String basePath = Text.readString(in);
    String instant = Text.readString(in);
    String stateKey = Text.readString(in);
    FileSlice slice = new FileSlice(Text.readString(in), Text.readString(in), Text.readString(in));
    if (in.readBoolean()) {
      slice.setBaseFile(new HoodieBaseFile(readFile(in)));
    }
    for (int logs = in.readInt(); logs > 0; logs--) {
      slice.addLogFile(new HoodieLogFile(readFile(in)));
    }
    Set<String> commits = new HashSet<>();
    for (int left = in.readInt(); left > 0; left--) {
      commits.add(Text.readString(in));
    }
    return new MergedSlice(basePath, instant, stateKey, slice).ofCommits(commits);
  }

  private static StoragePathInfo readFile(DataInput in) throws IOException {
    StoragePath path = new StoragePath(Text.readString(in));
    return new StoragePathInfo(path, in.readLong(), false, (short) 1, 0, 0);
  }
}
