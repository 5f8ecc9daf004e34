package io.pyhudi.hive.table;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** The digest by which the pruning service and its callers compare lists of texts. */
public final class LinesDigest {
  private LinesDigest() {}

  /**
   * Returns the SHA-256 over texts, sorted as unsigned UTF-8 bytes, each followed by a line feed.
   */
  public static byte[] of(Collection<String> texts) {
    List<byte[]> sorted = new ArrayList<>(texts.size());
    for (String text : texts) {
      sorted.add((text + "\n").getBytes(StandardCharsets.UTF_8));
    }
    // The line feed is below every byte of a file name, so it does not change the order.
    sorted.sort(LinesDigest::compareUnsigned);
    MessageDigest digest = sha256();
    sorted.forEach(digest::update);
    return digest.digest();
  }

  private static int compareUnsigned(byte[] left, byte[] right) {
    for (int i = 0; i < left.length && i < right.length; i++) {
      int difference = (left[i] & 0xff) - (right[i] & 0xff);
      if (difference != 0) {
        return difference;
      }
    }
    return left.length - right.length;
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
