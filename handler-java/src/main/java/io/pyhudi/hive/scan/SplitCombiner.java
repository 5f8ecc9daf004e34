package io.pyhudi.hive.scan;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.io.CombineHiveInputFormat;
import org.apache.hadoop.hive.ql.io.HiveInputFormat;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;

/**
 * Combines small splits where Hive does not: in MapReduce, whose combining format asks tables with
 * a storage handler for their splits as they are, and in Tez if HiveServer2 makes the splits. Where
 * Tez's application master makes them, it groups them itself.
 *
 * <p>The sizes are Hive's own: the largest split of MapReduce, and the least group of Tez. As in
 * Hadoop's combining format, the parts of a combined split have a host in common.
 */
public final class SplitCombiner {
  private static final String ENGINE = "hive.execution.engine";
  private static final String FORMAT = "hive.input.format";
  private static final String TEZ_FORMAT = "hive.tez.input.format";
  private static final String IN_MASTER = "hive.compute.splits.in.am";
  private static final String MAX_SIZE = "mapreduce.input.fileinputformat.split.maxsize";
  private static final long DEFAULT_MAX_SIZE = 256_000_000;
  private static final String GROUP_SIZE = "tez.grouping.min-size";
  private static final long DEFAULT_GROUP_SIZE = 50L << 20;
  private static final String ANYWHERE = "";

  private final List<Path> locations;
  private final long size;

  /**
   * @param locations each split is below one of these
   * @param size the length up to which splits are combined, in bytes
   */
  SplitCombiner(List<Path> locations, long size) {
    this.locations = locations;
    this.size = size;
  }

  /**
   * Returns the splits that an engine should get of a scan.
   *
   * @param locations the directories that the scan reads: a table, or partitions of one
   */
  public static List<? extends InputSplit> combine(
      JobConf job, List<Path> locations, List<HudiSplit> splits) throws IOException {
    long size = sizeFor(job);
    return size > 0 && splits.size() > 1 && !needsFiles(job)
        ? new SplitCombiner(locations, size).combine(splits)
        : splits;
  }

  /** Returns up to which length splits are combined; 0 if the engine does it, or nobody should. */
  private static long sizeFor(JobConf job) {
    if (Utilities.getPlanPath(job) == null) {
      return 0; // A fetch task ends with the last row that it needs.
    }
    if ("tez".equals(job.get(ENGINE))) {
      return isSet(job, TEZ_FORMAT, HiveInputFormat.class) && !job.getBoolean(IN_MASTER, true)
          ? job.getLong(GROUP_SIZE, DEFAULT_GROUP_SIZE)
          : 0;
    }
    return isSet(job, FORMAT, CombineHiveInputFormat.class)
        ? job.getLong(MAX_SIZE, DEFAULT_MAX_SIZE)
        : 0;
  }

  private static boolean isSet(JobConf job, String name, Class<?> format) {
    return job.get(name, format.getName()).equals(format.getName());
  }

  /**
   * Returns whether a job needs files apart: for buckets, or as it shows from which a row comes.
   */
  private static boolean needsFiles(JobConf job) {
    MapWork work = Utilities.getMapWork(job);
    return work == null
        || work.isUseBucketizedHiveInputFormat()
        || work.getAliasToWork().values().stream().anyMatch(SplitCombiner::shows);
  }

  private static boolean shows(Operator<?> operator) {
    return !(operator instanceof TableScanOperator)
        || ((TableScanOperator) operator).getConf().hasVirtualCols();
  }

  List<InputSplit> combine(List<HudiSplit> splits) throws IOException {
    Map<Path, List<HudiSplit>> byLocation = new LinkedHashMap<>();
    for (HudiSplit split : splits) {
      byLocation.computeIfAbsent(locationOf(split), path -> new ArrayList<>()).add(split);
    }
    List<InputSplit> combined = new ArrayList<>();
    for (List<HudiSplit> ofLocation : byLocation.values()) {
      byHost(ofLocation).forEach((host, parts) -> combined.addAll(cut(host, parts)));
    }
    return combined;
  }

  /** Returns the longest location that contains a split; a partition may be within another one. */
  private Path locationOf(HudiSplit split) {
    String path = split.getPath().toUri().getPath() + Path.SEPARATOR;
    Path found = split.getPath().getParent();
    int length = 0;
    for (Path location : locations) {
      String start = location.toUri().getPath();
      if (path.startsWith(start + Path.SEPARATOR) && start.length() > length) {
        found = location;
        length = start.length();
      }
    }
    return found;
  }

  /** Distributes splits over the hosts that have them, so that all have about the same length. */
  private static Map<String, List<HudiSplit>> byHost(List<HudiSplit> splits) throws IOException {
    Map<String, Long> loads = new HashMap<>();
    Map<String, List<HudiSplit>> byHost = new LinkedHashMap<>();
    for (HudiSplit split : splits) {
      String least = ANYWHERE;
      for (String host : split.getLocations()) {
        if (least.equals(ANYWHERE)
            || loads.getOrDefault(host, 0L) < loads.getOrDefault(least, 0L)) {
          least = host;
        }
      }
      loads.merge(least, split.getLength(), Long::sum);
      byHost.computeIfAbsent(least, host -> new ArrayList<>()).add(split);
    }
    return byHost;
  }

  private Collection<InputSplit> cut(String host, List<HudiSplit> splits) {
    List<InputSplit> found = new ArrayList<>();
    List<HudiSplit> parts = new ArrayList<>();
    long length = 0;
    for (HudiSplit split : splits) {
      if (!parts.isEmpty() && length + split.getLength() > size) {
        found.add(join(host, parts));
        parts = new ArrayList<>();
        length = 0;
      }
      parts.add(split);
      length += split.getLength();
    }
    found.add(join(host, parts));
    return found;
  }

  private static InputSplit join(String host, List<HudiSplit> parts) {
    if (parts.size() == 1) {
      return parts.get(0);
    }
    return host.equals(ANYWHERE) ? CombinedSplit.of(parts) : CombinedSplit.of(parts, host);
  }
}
