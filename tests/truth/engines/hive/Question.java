package io.pyhudi.truth;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What predicates give for rows. Numbers are big-endian ints; texts (UTF-8) and bytes follow their
 * length, lists their size.
 *
 * @param way the ordinal of one of {@link Evaluation.Way}
 * @param zone the IANA zone of the session and of the JVM
 * @param settings of the session, by their names
 * @param rows an Arrow IPC stream
 */
record Question(
    byte way, String zone, Map<String, String> settings, byte[] rows, List<String> predicates) {
  /** The next question; null at the end. */
  static Question read(DataInputStream in) throws IOException {
    byte way;
    try {
      way = in.readByte();
    } catch (EOFException end) {
      return null;
    }
    String zone = text(in);
    Map<String, String> settings = new LinkedHashMap<>();
    for (int left = in.readInt(); left > 0; left--) {
      settings.put(text(in), text(in));
    }
    byte[] rows = bytes(in);
    List<String> predicates = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      predicates.add(text(in));
    }
    return new Question(way, zone, settings, rows, predicates);
  }

  private static String text(DataInputStream in) throws IOException {
    return new String(bytes(in), StandardCharsets.UTF_8);
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return bytes;
  }
}
