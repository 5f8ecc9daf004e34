package io.pyhudi.hive.files;

import io.pyhudi.hive.version.PassingFileSystem;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The file system of one {@link ServedFile}. All else it passes on. Hadoop creates it by its name
 * in the configuration.
 */
public final class DataFileSystem extends PassingFileSystem {
  private ServedFile file;
  private boolean ownsInner;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    setConf(conf);
    file = ServedFile.named(conf);
    Configuration inner = new Configuration(conf);
    for (String setting : ServedFile.replaced(name.getScheme())) {
      String value = conf.get(ServedFile.REPLACED + setting);
      if (value == null) {
        inner.unset(setting);
      } else {
        inner.set(setting, value);
      }
    }
    fs = FileSystem.get(name, inner);
    ownsInner = inner.getBoolean("fs." + name.getScheme() + ".impl.disable.cache", false);
  }

  @Override
  public String getScheme() {
    return fs.getScheme();
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return path.equals(file.path()) ? file.status() : super.getFileStatus(path);
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    return path.equals(file.path())
        ? new FSDataInputStream(file.stream(fs))
        : super.open(path, bufferSize);
  }

  /** Leaves the inner file system open if others have it from Hadoop's cache, too. */
  @Override
  public void close() throws IOException {
    if (ownsInner) {
      super.close();
    }
  }
}
