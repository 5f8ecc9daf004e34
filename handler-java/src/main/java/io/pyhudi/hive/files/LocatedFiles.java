package io.pyhudi.hive.files;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the hosts of many files by listing their directories.
 *
 * <p>Hadoop's rules for splits ask a NameNode for the hosts of each file that comes without them. A
 * listing gives those of a whole batch of files in one call.
 */
public final class LocatedFiles {
  private static final Logger LOG = LoggerFactory.getLogger(LocatedFiles.class);

  /**
   * The file system that lists files with their hosts. WebHDFS's asks for those of each file that
   * is listed, and object stores make them up.
   */
  private static final String LISTING = "hdfs";

  /**
   * A NameNode lists about as many files with their hosts in one call: 1,000 hosts (dfs.ls.limit),
   * three for each file.
   */
  private static final int FILES_OF_ONE_CALL = 333;

  private LocatedFiles() {}

  /**
   * Returns the files in their order, with their hosts where a listing costs fewer calls than a
   * call for each file. The other ones are returned as they are.
   */
  public static List<FileStatus> of(List<FileStatus> files, Configuration conf) {
    Map<Path, Map<String, FileStatus>> directories = new LinkedHashMap<>();
    for (FileStatus file : files) {
      Path path = file.getPath();
      if (LISTING.equals(path.toUri().getScheme())) {
        directories
            .computeIfAbsent(path.getParent(), parent -> new HashMap<>())
            .put(path.getName(), file);
      }
    }
    Map<Path, FileStatus> located = new HashMap<>();
    directories.forEach((directory, wanted) -> located.putAll(located(directory, wanted, conf)));
    List<FileStatus> all = new ArrayList<>(files.size());
    files.forEach(file -> all.add(located.getOrDefault(file.getPath(), file)));
    return all;
  }

  /**
   * @param wanted files of the directory by name
   */
  private static Map<Path, FileStatus> located(
      Path directory, Map<String, FileStatus> wanted, Configuration conf) {
    Map<Path, FileStatus> located = new HashMap<>();
    // Beside few files there may be many that nobody asks for.
    long rest = (long) FILES_OF_ONE_CALL * (wanted.size() - 1);
    if (rest == 0) {
      return located;
    }
    try {
      RemoteIterator<LocatedFileStatus> listed =
          directory.getFileSystem(conf).listLocatedStatus(directory);
      while (rest-- > 0 && located.size() < wanted.size() && listed.hasNext()) {
        LocatedFileStatus found = listed.next();
        FileStatus file = wanted.get(found.getPath().getName());
        if (file != null && file.getLen() == found.getLen()) {
          located.put(file.getPath(), new LocatedFileStatus(file, found.getBlockLocations()));
        }
      }
    } catch (IOException e) {
      LOG.debug(
          "{}: cannot be listed, the hosts of its files are looked up one by one", directory, e);
    }
    return located;
  }
}
