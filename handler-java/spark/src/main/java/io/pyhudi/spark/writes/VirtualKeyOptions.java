package io.pyhudi.spark.writes;

import java.io.IOException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * The settings of a write about virtual keys. Hudi's writers do not know them: they would store the
 * keys, and say nothing. Only a DataFrame's writer may have them as options; all others may repeat
 * what the table says.
 */
final class VirtualKeyOptions {
  private static final String PREFIX = "hoodie.recordkey.virtual.";
  private static final String ENABLED = PREFIX + "enabled";

  private VirtualKeyOptions() {}

  /** Returns those among options, or settings of a session, by name. */
  static Map<String, String> among(Map<String, String> options) {
    Map<String, String> found = new TreeMap<>(options);
    found.keySet().removeIf(key -> !key.startsWith(PREFIX));
    return found;
  }

  /**
   * Checks that a write would keep what is said of virtual keys.
   *
   * @param said by its options or its session
   * @throws IllegalArgumentException one of them would not be kept
   * @throws IOException the table's properties cannot be read
   */
  static void check(TableWrite write, Map<String, String> said, Configuration conf)
      throws IOException {
    if (said.isEmpty()) {
      return;
    }
    Properties properties =
        write.kind() == TableWrite.Kind.REPLACING
            ? new Properties()
            : HudiProperties.of(new Path(write.path()), conf);
    properties.putIfAbsent(ENABLED, "false");
    said.forEach(
        (key, value) -> {
          if (!value.equals(properties.getProperty(key))) {
            throw new IllegalArgumentException(
                String.format(
                    "%s: this write does not know %s = %s, and would store the keys. Make a table"
                        + " with virtual keys by df.write.format(\"hudi\") with these options, or"
                        + " change this one by: pyhudi virtual-keys enable %s; then write without"
                        + " these options",
                    write.path(), key, value, write.path()));
          }
        });
  }
}
