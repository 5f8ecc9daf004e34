package io.pyhudi.hive.files;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Local files under another scheme, with a record of what is asked of them. */
public final class CountedFileSystem extends RawLocalFileSystem {
  public static final String SCHEME = "s3a";

  private static final List<String> REQUESTS = Collections.synchronizedList(new ArrayList<>());
  private final ThreadLocal<Boolean> isWithin = ThreadLocal.withInitial(() -> false);
  private URI uri;

  /** Returns a configuration in which paths of the scheme come here. */
  public static Configuration configuration() {
    Configuration conf = new Configuration();
    conf.setClass("fs." + SCHEME + ".impl", CountedFileSystem.class, CountedFileSystem.class);
    return conf;
  }

  /** Returns the requests since the last call, as "open NAME", "list NAME" or "status NAME". */
  public static List<String> take() {
    synchronized (REQUESTS) {
      List<String> taken = new ArrayList<>(REQUESTS);
      REQUESTS.clear();
      return taken;
    }
  }

  /** Counts a request unless it is part of another: local files are looked up by both. */
  private void add(String request, Path file) {
    if (!isWithin.get()) {
      REQUESTS.add(request + " " + file.getName());
    }
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    uri = name;
  }

  @Override
  public URI getUri() {
    return uri == null ? super.getUri() : uri;
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public FSDataInputStream open(Path file, int bufferSize) throws IOException {
    add("open", file);
    isWithin.set(true);
    try {
      return super.open(file, bufferSize);
    } finally {
      isWithin.set(false);
    }
  }

  @Override
  public FileStatus[] listStatus(Path file) throws IOException {
    add("list", file);
    isWithin.set(true);
    try {
      return super.listStatus(file);
    } finally {
      isWithin.set(false);
    }
  }

  @Override
  public FileStatus getFileStatus(Path file) throws IOException {
    add("status", file);
    return super.getFileStatus(file);
  }
}
