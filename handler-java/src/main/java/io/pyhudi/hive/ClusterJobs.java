package io.pyhudi.hive;

import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.table.HudiTable;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Prepares jobs that run on other hosts than HiveServer2. */
final class ClusterJobs {
  private static final String ENGINE = "hive.execution.engine";
  private static final String TEZ_HERE = "tez.local.mode";
  private static final String OUR_JARS_FIRST = MRJobConfig.MAPREDUCE_JOB_USER_CLASSPATH_FIRST;

  private static final Logger LOG = LoggerFactory.getLogger(ClusterJobs.class);

  private ClusterJobs() {}

  /** Prepares a job that scans a table, before it is submitted. */
  static void prepare(TableDesc table, JobConf job) {
    if (isTez(job)) {
      prepareTez(table, job);
    } else {
      prepareMapReduce(job);
    }
  }

  /**
   * Prepares the jobs of a query that scan a table without the storage handler.
   *
   * @param query the query's own configuration, which each of its jobs begins with
   */
  static void prepareAdopted(TableDesc table, Configuration query) {
    PruningSettings settings = PruningSettings.ofTable(table.getProperties());
    Path location = location(table);
    if (!isTez(query)) {
      prepareMapReduce(query);
    } else if (location != null && settings.enabled() && !query.getBoolean(TEZ_HERE, false)) {
      Path basePath;
      try {
        basePath = HudiTable.basePathOf(query, location);
      } catch (IOException e) {
        LOG.debug("{}: the scan will say what is wrong", location, e);
        return;
      }
      JobSecrets.addTo(table, basePath.toString(), settings);
    }
  }

  private static void prepareTez(TableDesc table, JobConf job) {
    Path path = location(table);
    PruningSettings settings = PruningSettings.ofTable(table.getProperties());
    if (path == null || !settings.enabled() || job.getBoolean(TEZ_HERE, false)) {
      return;
    }
    MetadataView view = MetadataView.of(path);
    Path basePath = view == null ? path : view.basePath();
    JobSecrets.of(job).add(basePath.toString(), settings);
  }

  private static void prepareMapReduce(Configuration job) {
    String framework = job.get(MRConfig.FRAMEWORK_NAME, MRConfig.LOCAL_FRAMEWORK_NAME);
    if (!MRConfig.LOCAL_FRAMEWORK_NAME.equals(framework)) {
      // Hadoop 3's own Avro is older than the one that Hudi's readers need, and comes first.
      job.setIfUnset(OUR_JARS_FIRST, "true");
    }
  }

  private static boolean isTez(Configuration job) {
    return "tez".equals(job.get(ENGINE));
  }

  private static Path location(TableDesc table) {
    String location =
        table.getProperties().getProperty(hive_metastoreConstants.META_TABLE_LOCATION);
    return location == null ? null : new Path(location);
  }
}
