package io.pyhudi.hive;

import io.pyhudi.hive.metadata.MetadataView;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;

/** Prepares jobs that run on other hosts than HiveServer2. */
final class ClusterJobs {
  private static final String ENGINE = "hive.execution.engine";
  private static final String TEZ_HERE = "tez.local.mode";
  private static final String OUR_JARS_FIRST = MRJobConfig.MAPREDUCE_JOB_USER_CLASSPATH_FIRST;

  private ClusterJobs() {}

  /** Prepares a job that scans a table, before it is submitted. */
  static void prepare(TableDesc table, JobConf job) {
    if ("tez".equals(job.get(ENGINE))) {
      prepareTez(table, job);
    } else if (!MRConfig.LOCAL_FRAMEWORK_NAME.equals(
        job.get(MRConfig.FRAMEWORK_NAME, MRConfig.LOCAL_FRAMEWORK_NAME))) {
      // Hadoop 3's own Avro is older than the one that Hudi's readers need, and comes first.
      job.setIfUnset(OUR_JARS_FIRST, "true");
    }
  }

  private static void prepareTez(TableDesc table, JobConf job) {
    String location =
        table.getProperties().getProperty(hive_metastoreConstants.META_TABLE_LOCATION);
    PruningSettings settings = PruningSettings.ofTable(table.getProperties());
    if (location == null || !settings.enabled() || job.getBoolean(TEZ_HERE, false)) {
      return;
    }
    Path path = new Path(location);
    MetadataView view = MetadataView.of(path);
    Path basePath = view == null ? path : view.basePath();
    JobSecrets.of(job).add(basePath.toString(), settings);
  }
}
