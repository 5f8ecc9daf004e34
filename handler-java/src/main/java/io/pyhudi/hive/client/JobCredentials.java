package io.pyhudi.hive.client;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * What a job carries to hosts that do not have HiveServer2's files: a token for one table, and the
 * authorities of the services' certificates.
 */
public final class JobCredentials {
  private static final int FORM = 1;

  private final String table;
  private final String token;
  private final byte[] authorities;

  /**
   * @param table the base path of the table for which the token is good
   * @param token a {@link SignedToken}; empty if services need none
   * @param authorities certificates as PEM; empty if connections are plain
   */
  JobCredentials(String table, String token, byte[] authorities) {
    this.table = table;
    this.token = token;
    this.authorities = authorities.clone();
  }

  /** Reads what {@link #toBytes} wrote. Throws IOException if it is of another form. */
  public static JobCredentials of(byte[] written) throws IOException {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(written))) {
      int form = in.readInt();
      if (form != FORM) {
        throw new IOException(
            "the job's credentials have form "
                + form
                + ", expected "
                + FORM
                + ": use one version"
                + " of the handler's jar in HiveServer2 and in its jobs");
      }
      String table = in.readUTF();
      String token = in.readUTF();
      byte[] authorities = new byte[in.readInt()];
      in.readFully(authorities);
      return new JobCredentials(table, token, authorities);
    }
  }

  /** Returns them as bytes, for the credentials of a Hadoop job. */
  public byte[] toBytes() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(FORM);
      out.writeUTF(table);
      out.writeUTF(token);
      out.writeInt(authorities.length);
      out.write(authorities);
    }
    return bytes.toByteArray();
  }

  String table() {
    return table;
  }

  String token() {
    return token;
  }

  byte[] authorities() {
    return authorities.clone();
  }
}
