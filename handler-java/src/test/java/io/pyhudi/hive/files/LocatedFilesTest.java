package io.pyhudi.hive.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.RemoteIterator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LocatedFilesTest {
  private static final String DAY = "hdfs://names/events/day=1";

  private final Configuration conf = new Configuration();

  @BeforeEach
  void emptyCluster() {
    conf.setClass("fs.hdfs.impl", Names.class, Names.class);
    conf.setBoolean("fs.hdfs.impl.disable.cache", true);
    conf.setClass("fs.webhdfs.impl", Names.class, Names.class);
    conf.setBoolean("fs.webhdfs.impl.disable.cache", true);
    Names.HOSTS.clear();
    Names.LISTED.clear();
  }

  @Test
  void oneListingFindsTheHostsOfADirectory() throws IOException {
    Names.HOSTS.put(DAY + "/a", "one");
    Names.HOSTS.put(DAY + "/b", "two");
    List<FileStatus> files = Arrays.asList(file(DAY + "/b", 10), file(DAY + "/a", 10));

    List<FileStatus> located = LocatedFiles.of(files, conf);

    assertEquals(files, located);
    assertEquals(Arrays.asList("two", "one"), Arrays.asList(host(located, 0), host(located, 1)));
    assertEquals(2, Names.LISTED.size());
  }

  @Test
  void aSingleFileOfADirectoryIsLookedUpAlone() {
    List<FileStatus> files =
        Arrays.asList(file(DAY + "/a", 10), file("hdfs://names/events/day=2/a", 10));

    List<FileStatus> located = LocatedFiles.of(files, conf);

    assertSame(files.get(0), located.get(0));
    assertSame(files.get(1), located.get(1));
    assertEquals(Collections.emptyList(), Names.LISTED);
  }

  @Test
  void aListingEndsWhereItWouldCostMoreThanItsFiles() {
    for (int i = 0; i < 1000; i++) {
      Names.HOSTS.put(String.format("%s/%04d", DAY, i), "one");
    }
    List<FileStatus> files = Arrays.asList(file(DAY + "/0998", 10), file(DAY + "/0999", 10));

    List<FileStatus> located = LocatedFiles.of(files, conf);

    assertSame(files.get(0), located.get(0));
    assertSame(files.get(1), located.get(1));
    assertEquals(333, Names.LISTED.size());
  }

  @Test
  void aFileOfAnotherLengthIsNotTheListedOne() throws IOException {
    Names.HOSTS.put(DAY + "/a", "one");
    Names.HOSTS.put(DAY + "/b", "two");
    List<FileStatus> files = Arrays.asList(file(DAY + "/a", 11), file(DAY + "/b", 10));

    List<FileStatus> located = LocatedFiles.of(files, conf);

    assertSame(files.get(0), located.get(0));
    assertEquals("two", host(located, 1));
  }

  @Test
  void filesOfADirectoryThatCannotBeListedAreLookedUpAlone() {
    List<FileStatus> files = Arrays.asList(file(DAY + "/a", 10), file(DAY + "/b", 10));

    List<FileStatus> located = LocatedFiles.of(files, conf);

    assertSame(files.get(0), located.get(0));
    assertSame(files.get(1), located.get(1));
  }

  @Test
  void otherFileSystemsAreNotListed() {
    Names.HOSTS.put("webhdfs://names/events/a", "one");
    Names.HOSTS.put("webhdfs://names/events/b", "two");
    for (String scheme : Arrays.asList("s3a", "webhdfs")) {
      List<FileStatus> files =
          Arrays.asList(
              file(scheme + "://names/events/a", 10), file(scheme + "://names/events/b", 10));

      assertEquals(files, LocatedFiles.of(files, conf));
      assertEquals(Collections.emptyList(), Names.LISTED);
    }
  }

  private static FileStatus file(String path, long length) {
    return new FileStatus(length, false, 1, 128, 0, new Path(path));
  }

  private static String host(List<FileStatus> files, int index) throws IOException {
    return ((LocatedFileStatus) files.get(index)).getBlockLocations()[0].getHosts()[0];
  }

  /** A file system that lists files of 10 bytes with their hosts. */
  public static final class Names extends RawLocalFileSystem {
    private static final Map<String, String> HOSTS = new TreeMap<>();
    private static final List<String> LISTED = new ArrayList<>();

    @Override
    public void initialize(URI name, Configuration conf) {
      setConf(conf);
    }

    @Override
    public RemoteIterator<LocatedFileStatus> listLocatedStatus(Path directory)
        throws FileNotFoundException {
      if (HOSTS.isEmpty()) {
        throw new FileNotFoundException(directory.toString());
      }
      Iterator<Map.Entry<String, String>> files = HOSTS.entrySet().iterator();
      return new RemoteIterator<LocatedFileStatus>() {
        @Override
        public boolean hasNext() {
          return files.hasNext();
        }

        @Override
        public LocatedFileStatus next() {
          Map.Entry<String, String> next = files.next();
          LISTED.add(next.getKey());
          String[] hosts = {next.getValue()};
          BlockLocation[] blocks = {new BlockLocation(hosts, hosts, 0, 10)};
          return new LocatedFileStatus(file(next.getKey(), 10), blocks);
        }
      };
    }
  }
}
