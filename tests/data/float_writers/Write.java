/*
 * Makes a witness file of parquet-java: Write PATH < the lines of values.py's columns, NAME VALUE ...,
 * with the jars of that version (parquet-hadoop, and Hadoop's client) on the class path.
 */
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

public final class Write {
  public static void main(String[] arguments) throws Exception {
    List<String[]> columns = new ArrayList<>();
    StringBuilder schema = new StringBuilder("message rows {\n");
    for (Scanner lines = new Scanner(System.in); lines.hasNextLine(); ) {
      String[] parts = lines.nextLine().split(" ");
      columns.add(parts);
      String type = parts[0].startsWith("f") ? "float" : "double";
      schema.append("optional ").append(type).append(" ").append(parts[0]).append(";\n");
    }
    MessageType type = MessageTypeParser.parseMessageType(schema.append("}").toString());
    Path path = new Path(arguments[0]);
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(path).withType(type).withPageSize(64).build()) {
      for (int row = 1; row < columns.get(0).length; row++) {
        Group group = new SimpleGroup(type);
        for (String[] column : columns) {
          if (!column[row].equals("NULL")) {
            double value = Double.parseDouble(column[row]);
            if (column[0].startsWith("f")) {
              group.add(column[0], (float) value);
            } else {
              group.add(column[0], value);
            }
          }
        }
        writer.write(group);
      }
    }
  }
}
