import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.thrift.ThriftBinaryCLIService;
import org.apache.hive.service.server.HiveServer2;

/**
 * Starts the two services of HiveServer2 4.0 that answer queries, with a newer Hive behind them.
 * Its own start needs parts of the metastore that have changed.
 */
public final class Launcher {
  private Launcher() {}

  public static void main(String[] arguments) {
    HiveConf.setLoadHiveServer2Config(true);
    HiveConf conf = new HiveConf(HiveServer2.class);
    CLIService queries = new CLIService(null, true);
    queries.init(conf);
    queries.start();
    ThriftBinaryCLIService connections = new ThriftBinaryCLIService(queries);
    connections.init(conf);
    connections.start();
  }
}
