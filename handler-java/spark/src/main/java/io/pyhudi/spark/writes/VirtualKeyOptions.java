package io.pyhudi.spark.writes;

import java.io.IOException;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * The options of a write about virtual keys. Hudi's writers do not know them: they would store the
 * keys, and say nothing. So those that do not repeat the table's own properties are refused.
 */
final class VirtualKeyOptions {
  private static final String PREFIX = "hoodie.recordkey.virtual.";

  private VirtualKeyOptions() {}

  /**
   * Checks the options of a write.
   *
   * @throws IllegalArgumentException one of them would not be kept
   * @throws IOException the table's properties cannot be read
   */
  static void check(TableWrite write, Configuration conf) throws IOException {
    if (write.given().keySet().stream().noneMatch(key -> key.startsWith(PREFIX))) {
      return;
    }
    Properties properties =
        write.kind() == TableWrite.Kind.REPLACING
            ? new Properties()
            : HudiProperties.of(new Path(write.path()), conf);
    for (Map.Entry<String, String> option : write.given().entrySet()) {
      String key = option.getKey();
      if (key.startsWith(PREFIX) && !option.getValue().equals(properties.getProperty(key))) {
        throw new IllegalArgumentException(
            String.format(
                "%s: Hudi's writer does not know %s = %s, and would store the keys. Make a table"
                    + " with virtual keys by create of pyhudi_expr.spark.virtual_keys.writing, or"
                    + " change this one by: pyhudi virtual-keys enable %s; then write without these"
                    + " options",
                write.path(), key, option.getValue(), write.path()));
      }
    }
  }
}
