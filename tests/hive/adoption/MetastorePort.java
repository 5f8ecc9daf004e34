import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge;
import org.apache.hadoop.hive.ql.exec.UDF;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.ql.udf.UDFType;

/** Serves the metastore that is embedded in this HiveServer2 on a port, by Thrift. */
@UDFType(deterministic = false)
public final class MetastorePort extends UDF {
  public int evaluate(int port) {
    HiveConf conf = new HiveConf(SessionState.getSessionConf());
    Thread server =
        new Thread(
            () -> {
              try {
                HiveMetaStore.startMetaStore(port, HadoopThriftAuthBridge.getBridge(), conf);
              } catch (Throwable e) {
                e.printStackTrace();
              }
            },
            "metastore");
    server.setContextClassLoader(HiveMetaStore.class.getClassLoader());
    server.setDaemon(true);
    server.start();
    return port;
  }
}
