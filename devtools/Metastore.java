import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

/**
 * A Hive metastore with the tables of its locks, which DataNucleus does not create. The settings
 * are system properties.
 */
public final class Metastore {
  private Metastore() {}

  public static void main(String[] arguments) throws Throwable {
    TxnDbUtil.prepDb(new HiveConf());
    HiveMetaStore.main(arguments);
  }
}
