package io.pyhudi.hive;

import io.pyhudi.hive.planning.PlannedScans;
import io.pyhudi.hive.planning.QueryHooks;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.hive.ql.plan.PartitionDesc;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Prepares the jobs of a query that scan tables without the storage handler, before it runs: of
 * tables with the handler Hive asks that itself.
 *
 * <p>It is added to each query whose plan asks one of the input formats whether it can be
 * vectorised, and by {@link HudiExplainHook}. It changes no plan.
 */
public final class AdoptedTables implements ExecuteWithHookContext {
  private static final Logger LOG = LoggerFactory.getLogger(AdoptedTables.class);

  /** Adds the hook to the query that the current thread compiles, if it compiles one. */
  public static void add() {
    QueryHooks.addBefore(AdoptedTables.class);
  }

  @Override
  public void run(HookContext context) {
    try {
      Configuration conf = context.getConf();
      for (MapWork map : PlannedScans.maps(context.getQueryPlan().getRootTasks())) {
        for (PartitionDesc scanned : map.getAliasToPartnInfo().values()) {
          prepare(scanned.getTableDesc(), conf);
        }
        for (PartitionDesc scanned : map.getPathToPartitionInfo().values()) {
          prepare(scanned.getTableDesc(), conf);
        }
      }
    } catch (Exception | LinkageError e) {
      LOG.warn("jobs cannot be prepared for tables without the storage handler", e);
    }
  }

  private static void prepare(TableDesc table, Configuration conf) {
    // Queries without a table scan one that has no format.
    Class<?> format = table == null ? null : table.getInputFileFormatClass();
    boolean isAdopted =
        format != null
            && HudiInputFormat.class.isAssignableFrom(format)
            && table.getProperties().getProperty(hive_metastoreConstants.META_TABLE_STORAGE)
                == null;
    if (isAdopted) {
      ClusterJobs.prepareAdopted(table, conf);
    }
  }
}
