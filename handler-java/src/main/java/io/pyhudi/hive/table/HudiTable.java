package io.pyhudi.hive.table;

import io.pyhudi.hive.PruningSettings;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.avro.Schema;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.common.config.HoodieMetadataConfig;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.model.HoodieFileFormat;
import org.apache.hudi.common.model.HoodieTableType;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.TableSchemaResolver;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.HoodieTimeline;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.exception.HoodieException;
import org.apache.hudi.hadoop.fs.HadoopFSUtils;
import org.apache.hudi.storage.StoragePath;

/**
 * A Hudi table at the newest instant that was completed when it was opened, or in an earlier state.
 */
public final class HudiTable {
  private static final String PROPERTIES = ".hoodie/hoodie.properties";

  /** With virtual keys the key is computed from other columns, even if writers still store it. */
  private static final String VIRTUAL_KEYS = "hoodie.recordkey.virtual.enabled";

  static {
    MemoryEstimates.withoutDebugger();
  }

  private final HoodieTableMetaClient metaClient;
  private final Path basePath;
  private final String asOf;
  private final Changes changes;
  private final Map<String, HudiTable> states = new ConcurrentHashMap<>();
  private final Map<Boolean, Schema> schemas = new ConcurrentHashMap<>();
  private final SharedListing listed = new SharedListing();
  private volatile Boolean schemaHistory;

  private HudiTable(HoodieTableMetaClient metaClient, Path basePath, String asOf, Changes changes) {
    this.metaClient = metaClient;
    this.basePath = basePath;
    this.asOf = asOf;
    this.changes = changes;
  }

  /**
   * Returns the opening of the table at a base path that everything in one query shares. The query
   * is the one that the configuration names.
   */
  public static HudiTable ofQuery(Configuration conf, Path basePath) {
    return QueryTables.of(conf, basePath);
  }

  /**
   * Returns the table in the state that the settings ask for, opened as by {@link
   * #ofQuery(Configuration, Path)}.
   *
   * @throws StateException if the table has no such state any more, or never had
   */
  public static HudiTable ofQuery(Configuration conf, Path basePath, PruningSettings settings) {
    HudiTable newest = ofQuery(conf, basePath);
    if (!asksForState(settings)) {
      return newest.asPlanned(PlannedState.of(conf, basePath));
    }
    QueryInstant times = new QueryInstant(newest, settings.timelineZone(), HiveZone.of(conf));
    if (settings.consume().isIncremental()) {
      if (!settings.asOf().isEmpty()) {
        throw new StateException(
            basePath, "cannot be read as of an instant and incrementally in one query", null);
      }
      return newest.states.computeIfAbsent(
          settings.consume().toString(),
          key -> newest.withChanges(Changes.of(newest, settings.consume(), times)));
    }
    return newest.states.computeIfAbsent(times.of(settings.asOf()), newest::stateAsOf);
  }

  /**
   * Returns the state that a query's plan depends on: this one, if it is null.
   *
   * @throws StateException if there is no such state any more
   */
  HudiTable asPlanned(PlannedState planned) {
    if (planned == null || planned.isStateOf(this)) {
      return this;
    }
    StateException cause = null;
    try {
      HudiTable state = states.computeIfAbsent(planned.instant(), this::stateAsOf);
      if (planned.isStateOf(state)) {
        return state;
      }
    } catch (StateException e) {
      cause = e;
    }
    throw new StateException(
        basePath,
        "has changed since the query was planned with keys of its rows, and their state is gone."
            + " Run the query again, or SET "
            + PruningSettings.PLANNED_JOINS
            + "=false",
        cause);
  }

  private static boolean asksForState(PruningSettings settings) {
    return !settings.asOf().isEmpty() || settings.consume().isIncremental();
  }

  private HudiTable withChanges(Changes read) {
    String last = read.lastInstant();
    return new HudiTable(
        metaClient, basePath, last == null || last.equals(newestInstant()) ? null : last, read);
  }

  /**
   * Checks that a table has the state that the settings ask for; without a request if they ask for
   * the newest.
   *
   * @throws StateException if it does not
   */
  public static void requireState(Configuration conf, Path basePath, PruningSettings settings) {
    if (asksForState(settings)) {
      ofQuery(conf, basePath, settings);
    }
  }

  private HudiTable stateAsOf(String instant) {
    HudiTable state = new HudiTable(metaClient, basePath, instant, null);
    PastState.check(state);
    return state;
  }

  /** Opens the table at a base path. */
  static HudiTable open(Configuration conf, Path basePath) {
    QueryStorage storage = new QueryStorage(basePath, new Configuration(conf));
    storage.requireTable(basePath);
    HoodieTableMetaClient metaClient =
        HoodieTableMetaClient.builder()
            .setStorage(storage)
            .setBasePath(basePath.toString())
            .setLoadActiveTimelineOnLoad(true)
            .build();
    HoodieTableConfig own = metaClient.getTableConfig();
    if (own.getBaseFileFormat() == HoodieFileFormat.HFILE) {
      // It has no data files of that format, so each query would have no rows.
      throw new HoodieException(
          new Path(basePath, PROPERTIES)
              + " is that of a metadata table, "
              + own.getTableName()
              + ": restore it from a backup");
    }
    return new HudiTable(metaClient, basePath, null, null);
  }

  /** Returns whether a directory is a table's base path. */
  public static boolean isBasePath(Configuration conf, Path directory) throws IOException {
    if (QueryTables.isOpen(conf, directory)) {
      return true;
    }
    FileSystem fs = directory.getFileSystem(conf);
    return fs.exists(new Path(directory, PROPERTIES));
  }

  /**
   * Returns the base path of the table that a location belongs to: the location itself, or for a
   * partition the table's directory above it.
   *
   * @throws FileNotFoundException if neither the location nor a parent directory is a Hudi table
   */
  public static Path basePathOf(Configuration conf, Path location) throws IOException {
    for (Path directory = location; directory != null; directory = directory.getParent()) {
      if (isBasePath(conf, directory)) {
        return directory;
      }
    }
    throw new FileNotFoundException(
        location + " is not in a Hudi table: no directory above it has a " + PROPERTIES);
  }

  public Path basePath() {
    return basePath;
  }

  public HoodieTableMetaClient metaClient() {
    return metaClient;
  }

  /** Returns whether the locations to scan are the whole table, given by its base path. */
  public boolean isScannedWhole(List<Path> locations) {
    return locations.equals(Collections.singletonList(basePath()));
  }

  /** Returns the changes that are read, instead of the whole state; null if the state is read. */
  public Changes changes() {
    return changes;
  }

  /** Describes what is read, for users: an instant or a range; null for the newest state. */
  public String stateText() {
    return changes == null ? asOf : changes.text();
  }

  /** Returns the instant as of which the table is read; null for the newest state. */
  public String asOf() {
    return asOf;
  }

  /**
   * Returns the requested time of the newest completed instant of this state, or null for a table
   * without commits.
   */
  public String newestInstant() {
    HoodieTimeline completed = completedTimeline();
    Option<HoodieInstant> newest =
        (asOf == null ? completed : completed.findInstantsBeforeOrEquals(asOf)).lastInstant();
    return newest.isPresent() ? newest.get().requestedTime() : null;
  }

  HoodieTimeline completedTimeline() {
    return metaClient.getCommitsAndCompactionTimeline().filterCompletedInstants();
  }

  /**
   * Returns a key of this state: of the set of completed instants, and of the instant as of which
   * it is read. The newest instant alone is not one: it may have started before another instant
   * completed.
   */
  public String stateKey() {
    return completedTimeline().getTimelineHash() + "@" + stateText();
  }

  /**
   * Returns a digest of all that a query reads of this state: the table's properties, each instant
   * of the active timeline with its state and completion time, and which state or range is read.
   */
  public byte[] stateDigest() {
    List<String> lines = new ArrayList<>();
    metaClient
        .getActiveTimeline()
        .getInstantsAsStream()
        .forEach(
            i ->
                lines.add(
                    String.join(
                        " ",
                        "instant",
                        i.requestedTime(),
                        i.getAction(),
                        i.getState().name(),
                        i.getCompletionTime())));
    TypedProperties properties = metaClient.getTableConfig().getProps();
    for (String key : properties.stringPropertyNames()) {
      lines.add("property " + key + "=" + properties.getProperty(key));
    }
    lines.add("read " + stateText());
    return LinesDigest.of(lines);
  }

  /** Returns the digest of the active timeline by which the pruning service knows its state. */
  public byte[] timelineDigest() {
    return ListedSlices.timelineDigest(metaClient);
  }

  /**
   * Returns whether files of this table must be read through its schema history: columns were
   * renamed or dropped under schema-on-read, so names alone do not identify them.
   */
  public boolean hasSchemaHistory() {
    if (schemaHistory == null) {
      schemaHistory =
          new TableSchemaResolver(metaClient)
              .getTableHistorySchemaStrFromCommitMetadata()
              .isPresent();
    }
    return schemaHistory;
  }

  /** Returns the lower-case names of the partition columns, the outermost first. */
  public List<String> partitionColumns() {
    Option<String[]> fields = metaClient.getTableConfig().getPartitionFields();
    List<String> names = new ArrayList<>();
    for (String field : fields.isPresent() ? fields.get() : new String[0]) {
      names.add(field.toLowerCase(Locale.ROOT));
    }
    return Collections.unmodifiableList(names);
  }

  /** Returns whether slices of the table may have log files. */
  public boolean isMergeOnRead() {
    return metaClient.getTableType() == HoodieTableType.MERGE_ON_READ;
  }

  /** Returns whether the record key is not stored, or the stored key must be ignored. */
  public boolean hasVirtualKeys() {
    HoodieTableConfig config = metaClient.getTableConfig();
    return !config.populateMetaFields()
        || Boolean.parseBoolean(config.getProps().getProperty(VIRTUAL_KEYS));
  }

  /**
   * Returns the schema of the table's rows, without the meta columns if these are not populated.
   *
   * @throws IOException if the table has no schema yet, or none that can be read
   */
  public Schema schema() throws IOException {
    return schema(metaClient.getTableConfig().populateMetaFields());
  }

  /**
   * Returns the schema with the meta columns, populated or not.
   *
   * @throws IOException if the table has no schema yet, or none that can be read
   */
  public Schema declaredSchema() throws IOException {
    return schema(true);
  }

  private Schema schema(boolean withMetaColumns) throws IOException {
    try {
      Schema schema = schemas.get(withMetaColumns);
      if (schema == null) {
        // Hudi reads it from a commit, and for the meta columns opens a data file as well.
        schema = new TableSchemaResolver(metaClient).getTableSchema(withMetaColumns).toAvroSchema();
        schemas.put(withMetaColumns, schema);
      }
      return schema;
    } catch (Exception e) {
      throw new IOException(basePath + ": the table's schema cannot be read", e);
    }
  }

  /** Lists partitions now and their slices on demand. All listings of this opening share both. */
  public TableListing list(List<Path> locations) {
    return new TableListing(this, listed, locations);
  }

  /** Returns whether Hudi's metadata table lists the files. */
  boolean hasMetadataTable() {
    return metaClient.getTableConfig().isMetadataTableAvailable();
  }

  /** Opens Hudi's index of the files below some locations. */
  FileListing index(Collection<Path> locations, boolean fromMetadataTable) {
    TypedProperties properties = new TypedProperties();
    properties.setProperty(HoodieMetadataConfig.ENABLE.key(), Boolean.toString(fromMetadataTable));
    List<StoragePath> paths =
        locations.stream().map(HadoopFSUtils::convertToStoragePath).collect(Collectors.toList());
    return new FileListing(metaClient, paths, properties, Option.ofNullable(asOf));
  }
}
