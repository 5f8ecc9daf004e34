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
 * @param ways the ordinals of {@link Evaluation.Way}
 * @param rows see {@link Rows#read}
 */
record Question(byte[] ways, Session.Options session, byte[] rows, List<String> predicates) {
  /** The next question; null at the end. */
  static Question read(DataInputStream in) throws IOException {
    byte[] ways;
    try {
      ways = bytes(in);
    } catch (EOFException end) {
      return null;
    }
    Session.Options session =
        new Session.Options(
            text(in), text(in), text(in), Session.Place.valueOf(text(in)), settings(in));
    byte[] rows = bytes(in);
    List<String> predicates = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      predicates.add(text(in));
    }
    return new Question(ways, session, rows, predicates);
  }

  private static Map<String, String> settings(DataInputStream in) throws IOException {
    Map<String, String> settings = new LinkedHashMap<>();
    for (int left = in.readInt(); left > 0; left--) {
      settings.put(text(in), text(in));
    }
    return settings;
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
