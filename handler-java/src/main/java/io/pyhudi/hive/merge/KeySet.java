package io.pyhudi.hive.merge;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/** Record keys, found by their UTF-8 bytes where these lie, without copies of them. */
final class KeySet {
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;

  private final String[] keys;
  private final ByteBuffer[] bytes;
  private final int[] hashes;

  /** One more than the number of a key, or 0. At least half of the places are free. */
  private final int[] places;

  private KeySet(int size) {
    keys = new String[size];
    bytes = new ByteBuffer[size];
    hashes = new int[size];
    places = new int[Integer.highestOneBit(Math.max(1, size)) << 2];
  }

  static KeySet of(Collection<String> keys) {
    KeySet set = new KeySet(keys.size());
    int number = 0;
    for (String key : keys) {
      set.add(number++, key);
    }
    return set;
  }

  private void add(int number, String key) {
    keys[number] = key;
    bytes[number] = ByteBuffer.wrap(key.getBytes(StandardCharsets.UTF_8));
    hashes[number] = hash(bytes[number], 0, bytes[number].limit());
    int place = hashes[number] & places.length - 1;
    while (places[place] != 0) {
      place = place + 1 & places.length - 1;
    }
    places[place] = number + 1;
  }

  /** Returns a key by its number. */
  String key(int number) {
    return keys[number];
  }

  /**
   * Returns the number of the key with these bytes, or -1.
   *
   * @param content big-endian
   */
  int find(ByteBuffer content, int start, int length) {
    int hash = hash(content, start, length);
    int place = hash & places.length - 1;
    for (int number; (number = places[place] - 1) >= 0; place = place + 1 & places.length - 1) {
      if (hashes[number] == hash && isEqual(bytes[number], content, start, length)) {
        return number;
      }
    }
    return -1;
  }

  private static boolean isEqual(ByteBuffer key, ByteBuffer content, int start, int length) {
    if (key.limit() != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      if (key.get(i) != content.get(start + i)) {
        return false;
      }
    }
    return true;
  }

  private static int hash(ByteBuffer content, int start, int length) {
    long hash = length;
    int at = start;
    int end = start + length;
    for (; at + Long.BYTES <= end; at += Long.BYTES) {
      hash = mixed(hash ^ content.getLong(at));
    }
    long rest = 0;
    for (; at < end; at++) {
      rest = rest << Byte.SIZE | content.get(at) & 0xff;
    }
    return (int) mixed(hash ^ rest);
  }

  private static long mixed(long value) {
    long product = value * MULTIPLIER;
    return product ^ product >>> 32;
  }
}
