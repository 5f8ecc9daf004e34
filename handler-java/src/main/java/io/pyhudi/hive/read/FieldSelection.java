package io.pyhudi.hive.read;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Which fields of a struct a scan reads. Hive's row format omits the others from the struct's
 * array, so positions shift. Below arrays and maps every field is read.
 */
final class FieldSelection {
  private final Map<String, FieldSelection> fields = new HashMap<>();
  private boolean everything;

  private FieldSelection(boolean everything) {
    this.everything = everything;
  }

  static FieldSelection all() {
    return new FieldSelection(true);
  }

  static FieldSelection none() {
    return new FieldSelection(false);
  }

  /**
   * Adds a field.
   *
   * @param path lower-case names separated by dots; "" for the whole struct
   */
  void add(String path) {
    if (path.isEmpty()) {
      everything = true;
      return;
    }
    String[] parts = path.split("\\.", 2);
    fields.computeIfAbsent(parts[0], name -> none()).add(parts.length == 1 ? "" : parts[1]);
  }

  boolean isEverything() {
    return everything;
  }

  boolean has(String field) {
    return everything || fields.containsKey(field.toLowerCase(Locale.ROOT));
  }

  FieldSelection of(String field) {
    return everything ? this : fields.get(field.toLowerCase(Locale.ROOT));
  }
}
