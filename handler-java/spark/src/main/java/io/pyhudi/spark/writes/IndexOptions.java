package io.pyhudi.spark.writes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * The options with which Hudi's writers keep the indexes that a table has, by its own properties
 * and definitions. They are those of {@code pyhudi_expr.spark.writer_options}, but for indexes that
 * are gone: a write does not build what another one has deleted.
 */
public final class IndexOptions {
  private static final String METADATA = "hoodie.metadata.enable";
  private static final String COLUMNS = "hoodie.metadata.index.column.stats.column.list";
  private static final String LISTED_BY_DRIVER = "hoodie.embed.timeline.server";
  private static final String PARTITIONS = "hoodie.table.metadata.partitions";
  private static final String INFLIGHT = "hoodie.table.metadata.partitions.inflight";
  private static final String DEFINITIONS = "hoodie.table.index.defs.path";
  private static final String VERSION = "hoodie.table.version";
  private static final int FIRST_OF_HUDI_1 = 8;

  private static final String COLUMN_STATS = "column_stats";
  private static final String PARTITION_STATS = "partition_stats";
  private static final String SECONDARY = "secondary_index";
  private static final String EXPRESSION = "expr_index";
  private static final Map<String, List<String>> ENABLED = enabled();
  private static final List<String> BY_DEFAULT = Arrays.asList(COLUMN_STATS, PARTITION_STATS);

  /** Options by what they are about: if a writer gives one of a group, the group is its own. */
  private final Map<String, Map<String, String>> groups;

  private final boolean isBuiltAlone;

  private IndexOptions(Map<String, Map<String, String>> groups, boolean isBuiltAlone) {
    this.groups = groups;
    this.isBuiltAlone = isBuiltAlone;
  }

  /**
   * Reads a table; an empty result: it has no metadata table, or it is no table.
   *
   * @throws IOException a file cannot be read
   */
  public static IndexOptions of(String basePath, Configuration conf) throws IOException {
    Path table = new Path(basePath);
    Properties properties = HudiProperties.of(table, conf);
    Set<String> there = new TreeSet<>(names(properties.getProperty(PARTITIONS)));
    there.addAll(names(properties.getProperty(INFLIGHT)));
    Map<String, Map<String, String>> groups = new TreeMap<>();
    boolean isOld = Integer.parseInt(properties.getProperty(VERSION, "0")) < FIRST_OF_HUDI_1;
    if (there.isEmpty()) {
      return new IndexOptions(groups, isOld);
    }
    groups.put(METADATA, Collections.singletonMap(METADATA, "true"));
    Set<String> kinds = new TreeSet<>();
    for (Map.Entry<String, List<String>> each : ENABLED.entrySet()) {
      if (there.stream().anyMatch(partition -> partition.startsWith(each.getKey()))) {
        kinds.add(each.getKey());
        Map<String, String> options = new TreeMap<>();
        each.getValue().forEach(key -> options.put(key, "true"));
        groups.put(each.getKey(), options);
      }
    }
    // As in Python, where the reason is.
    if (kinds.contains(EXPRESSION)
        || kinds.contains(PARTITION_STATS) && kinds.contains(SECONDARY)) {
      groups.put(LISTED_BY_DRIVER, Collections.singletonMap(LISTED_BY_DRIVER, "true"));
    }
    if (kinds.contains(COLUMN_STATS)) {
      String columns = indexedColumns(table, properties.getProperty(DEFINITIONS), conf);
      if (!columns.isEmpty()) {
        groups.put(COLUMNS, Collections.singletonMap(COLUMNS, columns));
      }
    }
    return new IndexOptions(groups, isOld);
  }

  /**
   * Returns whether Hudi makes an index of this table only while no other action is pending. A
   * writer whose options ask for one then leaves its files out of the whole metadata table, and
   * readers lose their rows (measured with Hudi 1.2 and tables of version 6).
   */
  public boolean isBuiltAlone() {
    return isBuiltAlone;
  }

  /**
   * Returns the options that a write lacks, by name.
   *
   * @param given what the writer and its session say, by name
   */
  public Map<String, String> missing(Map<String, String> given) {
    Map<String, String> options = new TreeMap<>();
    if ("false".equalsIgnoreCase(given.get(METADATA))) {
      return options; // the writer wants no metadata table
    }
    for (Map<String, String> group : groups.values()) {
      if (Collections.disjoint(group.keySet(), given.keySet())) {
        options.putAll(group);
      }
    }
    return options;
  }

  /**
   * Returns the options of indexes that Hudi's writers make unless they are turned off, and which
   * the table does not have; none, if it has no metadata table.
   *
   * @param given what the writer and its session say, by name; that is not returned
   */
  public List<String> absent(Map<String, String> given) {
    if (groups.isEmpty()) {
      return Collections.emptyList();
    }
    return BY_DEFAULT.stream()
        .filter(index -> !groups.containsKey(index))
        .flatMap(index -> ENABLED.get(index).stream())
        .filter(key -> !given.containsKey(key))
        .collect(Collectors.toList());
  }

  private static Map<String, List<String>> enabled() {
    Map<String, List<String>> keys = new TreeMap<>();
    keys.put(COLUMN_STATS, one("hoodie.metadata.index.column.stats.enable"));
    keys.put(PARTITION_STATS, one("hoodie.metadata.index.partition.stats.enable"));
    keys.put("bloom_filters", one("hoodie.metadata.index.bloom.filter.enable"));
    keys.put(
        "record_index",
        Arrays.asList(
            "hoodie.metadata.record.index.enable",
            "hoodie.metadata.global.record.level.index.enable"));
    keys.put(SECONDARY, one("hoodie.metadata.index.secondary.enable"));
    keys.put(EXPRESSION, one("hoodie.metadata.index.expression.enable"));
    return keys;
  }

  private static List<String> one(String key) {
    return Collections.singletonList(key);
  }

  private static List<String> names(String text) {
    List<String> names = new ArrayList<>();
    if (text != null) {
      Arrays.stream(text.split(",")).filter(name -> !name.isEmpty()).forEach(names::add);
    }
    return names;
  }

  /** Returns the columns of {@code column_stats}, with commas; "": they are not defined. */
  private static String indexedColumns(Path table, String definitions, Configuration conf)
      throws IOException {
    if (definitions == null || definitions.isEmpty()) {
      return "";
    }
    Path file = new Path(table, definitions);
    JsonNode found;
    try (InputStream content = file.getFileSystem(conf).open(file)) {
      found = new ObjectMapper().readTree(content);
    } catch (FileNotFoundException missing) {
      return "";
    }
    List<String> columns = new ArrayList<>();
    for (JsonNode column : found.at("/indexDefinitions/" + COLUMN_STATS + "/sourceFields")) {
      if (!column.asText().startsWith("_hoodie_")) {
        columns.add(column.asText());
      }
    }
    return String.join(",", columns);
  }
}
