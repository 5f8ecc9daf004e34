package io.pyhudi.hive;

import io.pyhudi.hive.metadata.MetadataView;
import io.pyhudi.hive.metadata.ViewGrants;
import io.pyhudi.hive.schema.HudiMetaHook;
import io.pyhudi.hive.schema.HudiSchemaSerDe;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.metastore.HiveMetaHook;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.metadata.DefaultStorageHandler;
import org.apache.hadoop.hive.ql.metadata.HiveStoragePredicateHandler;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.hive.serde2.AbstractSerDe;
import org.apache.hadoop.hive.serde2.Deserializer;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.OutputFormat;

/** The common base of the storage handlers of all Hive versions: how a table is read. */
public abstract class ReadingStorageHandler extends DefaultStorageHandler
    implements HiveStoragePredicateHandler {

  @Override
  @SuppressWarnings("rawtypes")
  public Class<? extends InputFormat> getInputFormatClass() {
    return HudiMergeOnReadInputFormat.class;
  }

  @Override
  @SuppressWarnings("rawtypes")
  public Class<? extends OutputFormat> getOutputFormatClass() {
    return HudiOutputFormat.class;
  }

  /** Derives the columns while a table is created; the table then keeps ParquetHiveSerDe. */
  @Override
  public Class<? extends AbstractSerDe> getSerDeClass() {
    return HudiSchemaSerDe.class;
  }

  @Override
  public HiveMetaHook getMetaHook() {
    return new HudiMetaHook(getConf());
  }

  /** Pushes the whole filter down and also keeps it in Hive as the residual predicate. */
  @Override
  public DecomposedPredicate decomposePredicate(
      JobConf job, Deserializer deserializer, ExprNodeDesc predicate) {
    if (!(predicate instanceof ExprNodeGenericFuncDesc)) {
      return null;
    }
    Announcements.ofFilter(job, predicate);
    DecomposedPredicate decomposed = new DecomposedPredicate();
    decomposed.pushedPredicate = (ExprNodeGenericFuncDesc) predicate;
    decomposed.residualPredicate = (ExprNodeGenericFuncDesc) predicate.clone();
    return decomposed;
  }

  @Override
  public void configureInputJobProperties(TableDesc table, Map<String, String> properties) {
    properties.putAll(PruningSettings.ofTable(table.getProperties()).asMap());
    MetadataView view = view(table.getProperties());
    if (view != null) {
      ViewGrants.ofSession()
          .ifPresent(grants -> grants.requireSelect(getConf(), view, table.getTableName()));
      properties.put(ViewGrants.checkedProperty(view), "true");
    }
  }

  private static MetadataView view(Properties table) {
    String location = table.getProperty(hive_metastoreConstants.META_TABLE_LOCATION);
    return location == null ? null : MetadataView.of(new Path(location));
  }

  /** Called in HiveServer2 for each table of a job, before it submits the job. */
  @Override
  public void configureJobConf(TableDesc table, JobConf job) {
    ClusterJobs.prepare(table, job);
  }

  @Override
  public void configureOutputJobProperties(TableDesc table, Map<String, String> properties) {
    configureInputJobProperties(table, properties);
  }
}
