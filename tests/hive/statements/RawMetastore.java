import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.hive.metastore.api.EnvironmentContext;
import org.apache.hadoop.hive.metastore.api.GetTableRequest;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore;
import org.apache.hadoop.hive.ql.exec.UDF;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.udf.UDFType;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSocket;

/** Calls a metastore as a Thrift client without the hooks of Hive's own client. */
@UDFType(deterministic = false)
public final class RawMetastore extends UDF {
  /** Returns "done", or what was asked for. Throws what the metastore says, if it refuses. */
  public String evaluate(int port, String call, String database, String table, String argument)
      throws HiveException {
    try (TSocket socket = new TSocket("127.0.0.1", port)) {
      socket.open();
      ThriftHiveMetastore.Client metastore =
          new ThriftHiveMetastore.Client(new TBinaryProtocol(socket));
      if (call.equals("known")) {
        return known(metastore, database);
      }
      run(metastore, call, database, table, argument);
      return "done";
    } catch (TException e) {
      throw new HiveException("metastore refused: " + e, e);
    }
  }

  private static void run(
      ThriftHiveMetastore.Client metastore,
      String call,
      String database,
      String table,
      String argument)
      throws TException {
    switch (call) {
      case "alter":
        Table altered =
            metastore.get_table_req(new GetTableRequest(database, table)).getTable();
        metastore.alter_table_with_environment_context(
            database, table, altered, changed(altered, argument));
        return;
      case "drop_table":
        metastore.drop_table(database, table, true);
        return;
      case "drop_database":
        metastore.drop_database(database, true, true);
        return;
      case "truncate":
        metastore.truncate_table(database, table, Collections.emptyList());
        return;
      case "drop_partition":
        metastore.drop_partition_by_name(database, table, argument, true);
        return;
      case "exchange":
        String[] specification = argument.split(" ");
        String[] pair = specification[0].split("=");
        metastore.exchange_partition(
            Collections.singletonMap(pair[0], pair[1]),
            database,
            table,
            database,
            specification[1]);
        return;
      default:
        throw new IllegalArgumentException(call);
    }
  }

  /** Describes all tables of a database and their partitions, but for the times of changes. */
  private static String known(ThriftHiveMetastore.Client metastore, String database)
      throws TException {
    StringBuilder known = new StringBuilder();
    for (String name : metastore.get_all_tables(database)) {
      Table table = metastore.get_table_req(new GetTableRequest(database, name)).getTable();
      table.getParameters().keySet().removeIf(key -> key.contains("Time") || key.contains("_by"));
      known.append(table).append('\n');
      if (table.getPartitionKeysSize() > 0) {
        for (Partition partition : metastore.get_partitions(database, name, (short) -1)) {
          known.append(partition.getValues()).append(partition.getSd()).append('\n');
        }
      }
    }
    return known.toString();
  }

  /** Changes a table by words: key=value, -key, and of the table itself location, type, name. */
  private static EnvironmentContext changed(Table table, String words) {
    Map<String, String> context = new HashMap<>();
    for (String word : words.split(" ")) {
      String[] pair = word.split("=", 2);
      if (word.startsWith("-")) {
        table.getParameters().remove(word.substring(1));
      } else if (pair[0].equals("location")) {
        table.getSd().setLocation(pair[1]);
      } else if (pair[0].equals("type")) {
        table.setTableType(pair[1]);
      } else if (pair[0].equals("name")) {
        table.setTableName(pair[1]);
      } else if (pair[0].startsWith("REPL_")) {
        context.put(pair[0], pair[1]);
      } else {
        table.getParameters().put(pair[0], pair[1]);
      }
    }
    return new EnvironmentContext(context);
  }
}
