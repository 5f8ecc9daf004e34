package io.pyhudi.hive.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class KeySetTest {
  private final Random random = new Random(7);

  /** Returns a key that differs from others in its length, or anywhere. */
  private String key() {
    char[] letters = new char[random.nextInt(20)];
    for (int i = 0; i < letters.length; i++) {
      letters[i] = random.nextInt(6) > 0 ? 'a' : (char) ('a' + random.nextInt(0x300));
    }
    return new String(letters);
  }

  @Test
  void exactlyTheKeysAreFoundWhereverTheyLie() {
    Map<String, Integer> numbers = new HashMap<>();
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      String key = key();
      if (numbers.putIfAbsent(key, keys.size()) == null) {
        keys.add(key);
      }
    }
    KeySet set = KeySet.of(keys);
    for (int i = 0; i < 20_000; i++) {
      String key = i < keys.size() ? keys.get(i) : key();
      byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
      int before = random.nextInt(9);
      ByteBuffer content = ByteBuffer.allocate(before + bytes.length + random.nextInt(9));
      random.nextBytes(content.array());
      System.arraycopy(bytes, 0, content.array(), before, bytes.length);
      int found = set.find(content, before, bytes.length);
      assertEquals(numbers.getOrDefault(key, -1), found, key);
      if (found >= 0) {
        assertEquals(key, set.key(found));
      }
    }
  }

  @Test
  void noKeyIsInTheEmptySet() {
    assertEquals(-1, KeySet.of(Collections.emptyList()).find(ByteBuffer.allocate(9), 0, 9));
    assertEquals(-1, KeySet.of(Collections.emptyList()).find(ByteBuffer.allocate(9), 0, 0));
  }

  @Test
  void onlyTextsThatAreTheSameInEveryFileAreKnown() {
    List<Serializable> texts = Arrays.asList("", "k\u00e9y \ud83d\ude00");
    assertNotNull(LogKeys.keys(texts));
    assertNull(LogKeys.keys(Arrays.asList("key", 7L)));
    assertNull(LogKeys.keys(Arrays.asList("key", "\ufffd")));
    assertNull(LogKeys.keys(Arrays.asList("key", "half of a pair \ud83d")));
  }
}
