package io.pyhudi.hive.scan;

import java.util.Map;
import java.util.StringJoiner;

/**
 * Writes the JSON of a scan log line: strings, numbers, objects and null. Jackson is not used, as
 * hive-exec contains relocated copies of it only.
 */
final class Json {
  private Json() {}

  static String object(Map<?, ?> fields) {
    StringJoiner members = new StringJoiner(",", "{", "}");
    fields.forEach((name, value) -> members.add(string(name) + ":" + value(value)));
    return members.toString();
  }

  private static String value(Object value) {
    if (value instanceof Map) {
      return object((Map<?, ?>) value);
    }
    boolean isLiteral = value == null || value instanceof Number || value instanceof Boolean;
    return isLiteral ? String.valueOf(value) : string(value);
  }

  private static String string(Object value) {
    StringBuilder text = new StringBuilder("\"");
    for (char c : value.toString().toCharArray()) {
      if (c == '"' || c == '\\') {
        text.append('\\').append(c);
      } else if (c < 0x20 || Character.isSurrogate(c)) {
        text.append(String.format("\\u%04x", (int) c));
      } else {
        text.append(c);
      }
    }
    return text.append('"').toString();
  }
}
