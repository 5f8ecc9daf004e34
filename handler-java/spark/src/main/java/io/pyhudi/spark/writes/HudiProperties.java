package io.pyhudi.spark.writes;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** The properties that a Hudi table has of its own, in its directory. */
final class HudiProperties {
  private HudiProperties() {}

  /**
   * Reads them; none: there is no table. While Hudi rewrites them, their copy is there.
   *
   * @throws IOException the file cannot be read
   */
  static Properties of(Path table, Configuration conf) throws IOException {
    Properties properties = new Properties();
    for (String name : new String[] {"hoodie.properties", "hoodie.properties.backup"}) {
      Path file = new Path(table, ".hoodie/" + name);
      try (InputStream content = file.getFileSystem(conf).open(file)) {
        properties.load(content);
      } catch (FileNotFoundException missing) {
        continue;
      }
      if (!properties.isEmpty()) {
        break;
      }
    }
    return properties;
  }
}
