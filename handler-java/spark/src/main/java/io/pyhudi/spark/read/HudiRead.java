package io.pyhudi.spark.read;

import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import io.pyhudi.hive.table.ListedSlices;
import io.pyhudi.spark.plans.ChangedTables;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.DefaultSource;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.HoodieIncrementalFileIndex;
import org.apache.hudi.common.model.HoodieTableType;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.TableSchemaResolver;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.util.Option;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.hudi.HoodieSqlCommonUtils;
import org.apache.spark.sql.sources.BaseRelation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What one relation of a plan reads of a Hudi table, and how. */
final class HudiRead {
  private static final Logger LOG = LoggerFactory.getLogger(HudiRead.class);
  private static final String AS_OF = "as.of.instant";
  private static final String MERGE_TYPE = "hoodie.datasource.merge.type";
  private static final String MERGED = "payload_combine";
  private static final String VALUES_FROM_PATHS =
      "hoodie.datasource.read.extract.partition.values.from.path";
  private static final String VIRTUAL_KEYS = "hoodie.recordkey.virtual.enabled";
  private static final String SCHEMA_ON_READ = "hoodie.schema.on.read.enable";

  private final SparkSession session;
  private final LogicalRelation relation;
  private final HadoopFsRelation files;
  private final HoodieFileIndex index;

  private HudiRead(
      SparkSession session,
      LogicalRelation relation,
      HadoopFsRelation files,
      HoodieFileIndex index) {
    this.session = session;
    this.relation = relation;
    this.files = files;
    this.index = index;
  }

  /** Returns the read of a leaf; empty if it reads no Hudi table by files that Spark lists. */
  static Optional<HudiRead> of(SparkSession session, LogicalPlan leaf) {
    if (!(leaf instanceof LogicalRelation)) {
      return Optional.empty();
    }
    LogicalRelation relation = (LogicalRelation) leaf;
    if (!(relation.relation() instanceof HadoopFsRelation)) {
      return Optional.empty();
    }
    HadoopFsRelation files = (HadoopFsRelation) relation.relation();
    return hudiIndex(files.location()).map(index -> new HudiRead(session, relation, files, index));
  }

  /** Not of queries of changes with their own columns (CDC), nor of what others derive. */
  private static Optional<HoodieFileIndex> hudiIndex(FileIndex location) {
    if (location instanceof PrunedFileIndex) {
      return Optional.of(((PrunedFileIndex) location).hudi());
    }
    boolean isKnown =
        location.getClass() == HoodieFileIndex.class
            || location.getClass() == HoodieIncrementalFileIndex.class;
    return isKnown ? Optional.of((HoodieFileIndex) location) : Optional.empty();
  }

  LogicalRelation relation() {
    return relation;
  }

  HadoopFsRelation files() {
    return files;
  }

  HoodieFileIndex index() {
    return index;
  }

  String basePath() {
    return metaClient().getBasePath().toString();
  }

  private HoodieTableMetaClient metaClient() {
    return index.metaClient();
  }

  boolean isIncremental() {
    return index instanceof HoodieIncrementalFileIndex;
  }

  /** Returns the slices among which the query reads. */
  Slices slices() {
    return isIncremental() ? changes() : new TableSlices(index, newestKnown());
  }

  private ChangedSlices changes() {
    return ChangedSlices.of((HoodieIncrementalFileIndex) index);
  }

  /** Returns why no answer could be used; null if one can. */
  String obstacle() {
    if (isIncremental() && changes().lastInstant() == null) {
      return "no commit is in the range";
    }
    if (index.includeLogFiles() && !option(MERGE_TYPE, MERGED).equalsIgnoreCase(MERGED)) {
      return "log files are not merged";
    }
    if (metaClient().getTableConfig().getBootstrapBasePath().isPresent()) {
      return "a bootstrapped table";
    }
    // Without the schemas of commits Hudi's reader knows columns by the names of now.
    return !isOn(SCHEMA_ON_READ) && hasSchemaHistory()
        ? "columns may have been renamed, and " + SCHEMA_ON_READ + " is not on"
        : null;
  }

  private boolean hasSchemaHistory() {
    return new TableSchemaResolver(metaClient())
        .getTableHistorySchemaStrFromCommitMetadata()
        .isPresent();
  }

  /** Returns whether record keys are computed from other columns, even if files store them. */
  boolean hasVirtualKeys() {
    HoodieTableConfig config = metaClient().getTableConfig();
    return !config.populateMetaFields()
        || Boolean.parseBoolean(config.getProps().getProperty(VIRTUAL_KEYS));
  }

  TableView view() {
    boolean isMergeOnRead = metaClient().getTableType() == HoodieTableType.MERGE_ON_READ;
    return isMergeOnRead && !index.includeLogFiles()
        ? TableView.READ_OPTIMIZED
        : TableView.SNAPSHOT;
  }

  /**
   * Returns the instant of the state that the service is asked about: that of time travel, or the
   * last one of an incremental query; null for the newest state.
   */
  String asOf() {
    if (isIncremental()) {
      return changes().lastInstant();
    }
    scala.Option<String> given = index.options().get(AS_OF);
    return given.isDefined() ? HoodieSqlCommonUtils.formatQueryInstant(given.get()) : null;
  }

  /**
   * Returns the requested time of the newest completed instant that the relation knows, or null.
   */
  String newestInstant() {
    Option<HoodieInstant> newest =
        metaClient().getCommitsAndCompactionTimeline().filterCompletedInstants().lastInstant();
    return newest.isPresent() ? newest.get().requestedTime() : null;
  }

  /** Returns the instant of the state that the relation reads; null: the table has none. */
  private String newestKnown() {
    String asOf = asOf();
    return asOf == null ? newestInstant() : asOf;
  }

  /**
   * Returns the read of the table as it is now, if this application has rewritten its files since
   * the relation was made. The relation of another instant remains, and so does one that Hudi
   * cannot make again.
   */
  HudiRead current() {
    String changed = ChangedTables.lastChange(qualified(new Path(basePath())).toString());
    String known = newestInstant();
    if (changed == null || isIncremental() || asOf() != null || known == null) {
      return this;
    }
    return known.compareTo(changed) < 0 ? madeAgain() : this;
  }

  private HudiRead madeAgain() {
    try {
      BaseRelation again =
          new DefaultSource().createRelation(session.sqlContext(), files.options(), files.schema());
      LogicalRelation current =
          relation.copy(again, relation.output(), relation.catalogTable(), relation.isStreaming());
      return of(session, current).orElse(this);
    } catch (RuntimeException e) {
      LOG.warn("{}: it was rewritten, and the query reads its files of before", basePath(), e);
      return this;
    }
  }

  /** Returns whether a list of the service could stand for Hudi's. */
  boolean canBeListed() {
    return asOf() == null && isOfWholeTable() && ListedSlices.arePossible(metaClient());
  }

  private boolean isOfWholeTable() {
    List<Path> paths = Scala.list(index.rootPaths());
    return paths.size() == 1 && qualified(paths.get(0)).toString().equals(basePath());
  }

  /** Returns a path with the scheme and the authority that Hudi has added to the base path. */
  private Path qualified(Path path) {
    Configuration conf = metaClient().getStorageConf().unwrapAs(Configuration.class);
    try {
      return path.getFileSystem(conf).makeQualified(path);
    } catch (IOException e) {
      throw new UncheckedIOException(path + ": its file system cannot be opened", e);
    }
  }

  /** Returns whether partition columns are shown as their paths spell them. */
  boolean showsPathValues() {
    return isOn(VALUES_FROM_PATHS) || metaClient().getTableConfig().shouldDropPartitionColumns();
  }

  /**
   * Returns what the catalog's table, the options of the read or the session say of the table's
   * buckets, which its own properties do not; null if they say nothing.
   */
  Map<String, String> statedBuckets() {
    Map<String, String> stated = new HashMap<>();
    for (String name : pruningConstants.BUCKET_OPTIONS) {
      String text = inCatalog(name, option(name, null));
      if (text != null) {
        stated.put(name, text);
      }
    }
    return stated.isEmpty() ? null : stated;
  }

  private String inCatalog(String name, String otherwise) {
    scala.Option<CatalogTable> table = relation.catalogTable();
    scala.Option<String> given =
        table.isDefined() ? table.get().properties().get(name) : scala.Option.empty();
    return given.isDefined() ? given.get() : otherwise;
  }

  private boolean isOn(String key) {
    return Boolean.parseBoolean(option(key, "false"));
  }

  private String option(String key, String otherwise) {
    scala.Option<String> given = index.options().get(key);
    return given.isDefined() && given.get() != null
        ? given.get()
        : session.sessionState().conf().getConfString(key, otherwise);
  }
}
