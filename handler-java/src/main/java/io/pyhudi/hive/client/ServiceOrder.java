package io.pyhudi.hive.client;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The order in which several services are called about a table.
 *
 * <p>By {@link #TABLE} each table has an order of its own, the same for every caller: services by
 * the SHA-256 of "address NUL table", the greatest first (rendezvous hashing). So each service gets
 * about the same number of tables and keeps these in memory. The next one of a table's order takes
 * over if a service fails. A service that is added to N - 1 others, or removed from N, changes the
 * first service of about one table in N. The Python package has the same order ({@code
 * pyhudi_expr.protocol.client.services_for}); {@code service-orders.txt} among the tests has
 * examples for both.
 */
public enum ServiceOrder {
  TABLE {
    @Override
    List<ServiceAddress> sorted(List<ServiceAddress> listed, String basePath) {
      String table = normalized(basePath);
      List<ServiceAddress> sorted = new ArrayList<>(listed);
      sorted.sort(
          Comparator.comparing((ServiceAddress address) -> weight(address, table)).reversed());
      return sorted;
    }
  },
  /** As they are listed: the others are called only if the first one fails. */
  LISTED {
    @Override
    List<ServiceAddress> sorted(List<ServiceAddress> listed, String basePath) {
      return listed;
    }
  };

  private static final Pattern URI = Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*):(.*)");

  abstract List<ServiceAddress> sorted(List<ServiceAddress> listed, String basePath);

  /** Returns the services in the order in which to call them about a table. */
  public List<ServiceAddress> of(List<ServiceAddress> listed, String basePath) {
    return listed.size() < 2 ? listed : sorted(listed, basePath);
  }

  /**
   * Returns one text for the ways in which callers write a base path: local paths without a scheme,
   * S3's clients under one, single slashes, none at the end. Not a path to open.
   */
  private static String normalized(String basePath) {
    Matcher uri = URI.matcher(basePath);
    boolean isUri = uri.matches();
    String scheme = isUri ? uri.group(1) + ":" : "";
    if (scheme.equals("file:")) {
      scheme = "";
    } else if (scheme.equals("s3a:") || scheme.equals("s3n:")) {
      scheme = "s3:";
    }
    return Arrays.stream((isUri ? uri.group(2) : basePath).split("/"))
        .filter(part -> !part.isEmpty())
        .collect(Collectors.joining("/", scheme + "/", ""));
  }

  private static BigInteger weight(ServiceAddress address, String table) {
    try {
      byte[] hashed = (address + "\0" + table).getBytes(StandardCharsets.UTF_8);
      return new BigInteger(1, MessageDigest.getInstance("SHA-256").digest(hashed));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
