package io.pyhudi.hive.client;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A token that lets its holder ask about one table until some time. It is signed with the token
 * that this side shares with the services, and does not reveal it.
 *
 * <p>The service checks the same form (pyhudi_expr/service/access.py): {@code job1.PAYLOAD.MAC},
 * both in URL-safe Base64 without padding, where the payload is the seconds since 1970 at which the
 * token expires, a newline and the table's base path, and the MAC is HMAC-SHA256 over {@link
 * #PURPOSE} and the payload.
 */
final class SignedToken {
  private static final String FORM = "job1";
  private static final String PURPOSE = "pyhudi job token 1\n";
  private static final String ALGORITHM = "HmacSHA256";

  private SignedToken() {}

  /**
   * @param secret the token that the services know
   * @param table the base path, as requests name it
   * @param expires seconds since 1970
   */
  static String of(String secret, String table, long expires) {
    byte[] payload = (expires + "\n" + table).getBytes(StandardCharsets.UTF_8);
    Base64.Encoder text = Base64.getUrlEncoder().withoutPadding();
    String mac = text.encodeToString(mac(secret, payload));
    return String.join(".", FORM, text.encodeToString(payload), mac);
  }

  private static byte[] mac(String secret, byte[] payload) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), ALGORITHM));
      mac.update(PURPOSE.getBytes(StandardCharsets.UTF_8));
      return mac.doFinal(payload);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(ALGORITHM + " is in every JVM", e);
    }
  }
}
