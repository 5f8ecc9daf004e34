package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.pruningConstants;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * The credentials by which the handler and a service authenticate each other. All are names of
 * files, which are read for each new connection: a renewed certificate or token needs no restart. A
 * host that lacks the files uses what the job has brought.
 */
public final class Credentials {
  /** Plain connections without a token. */
  static final Credentials NONE = new Credentials("", "", "", "");

  private final List<String> files;
  private final JobCredentials brought;

  /**
   * @param authorities PEM file with the authorities of the services' certificates; empty: no TLS
   * @param keystore PKCS #12 file with this side's key and certificate, or empty
   * @param passwordFile file with its password, or empty
   * @param tokenFile file with the token that services require, or empty
   */
  public Credentials(String authorities, String keystore, String passwordFile, String tokenFile) {
    this(Arrays.asList(authorities, keystore, passwordFile, tokenFile), null);
  }

  private Credentials(List<String> files, JobCredentials brought) {
    this.files = files;
    this.brought = brought;
  }

  /** Returns the same credentials, for a job that has brought others. */
  public Credentials with(JobCredentials ofJob) {
    return new Credentials(files, ofJob);
  }

  /**
   * Returns what a job needs to ask about a table where these files are not; null if services need
   * neither a token nor TLS.
   *
   * @param table the base path
   * @param expires when its token expires, seconds since 1970
   * @throws IOException if a file cannot be read
   */
  public JobCredentials forJob(String table, long expires) throws IOException {
    String authorities = files.get(0);
    String token = files.get(3);
    return authorities.isEmpty() && token.isEmpty()
        ? null
        : new JobCredentials(
            table,
            token.isEmpty() ? "" : SignedToken.of(text(token), table, expires),
            authorities.isEmpty() ? new byte[0] : Files.readAllBytes(Paths.get(authorities)));
  }

  /** Returns the first frame of a connection, or null. */
  byte[] preface() throws IOException {
    String file = files.get(3);
    if (file.isEmpty()) {
      return null;
    }
    String token = isBrought("hudi.pruning.token.file", file) ? brought.token() : text(file);
    return (pruningConstants.TOKEN_PREFACE + token).getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Wraps a connected socket in TLS if TLS is configured. The service's certificate, including its
   * host name, has then been verified.
   */
  Socket secure(Socket connected, ServiceAddress address) throws IOException {
    if (files.get(0).isEmpty()) {
      return connected;
    }
    try {
      SSLSocket socket =
          (SSLSocket)
              context()
                  .getSocketFactory()
                  .createSocket(connected, address.host(), address.port(), true);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      return socket;
    } catch (GeneralSecurityException e) {
      throw new IOException("TLS cannot be set up: " + e.getMessage(), e);
    }
  }

  private SSLContext context() throws IOException, GeneralSecurityException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream pem = authorities()) {
      int number = 0;
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        trusted.setCertificateEntry("authority-" + number++, one);
      }
    }
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys(), trust.getTrustManagers(), null);
    return context;
  }

  private InputStream authorities() throws IOException {
    return isBrought("hudi.pruning.tls.ca", files.get(0))
        ? new ByteArrayInputStream(brought.authorities())
        : Files.newInputStream(Paths.get(files.get(0)));
  }

  private boolean isBrought(String setting, String file) throws IOException {
    boolean isHere = Files.isReadable(Paths.get(file));
    if (!isHere && brought == null) {
      throw new NoSuchFileException(
          file, null, "it is not on this host (" + setting + "), nor has the job brought a copy");
    }
    return !isHere;
  }

  private KeyManager[] keys() throws IOException, GeneralSecurityException {
    if (files.get(1).isEmpty()) {
      return null;
    }
    char[] password = files.get(2).isEmpty() ? new char[0] : text(files.get(2)).toCharArray();
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream content = Files.newInputStream(Paths.get(files.get(1)))) {
      store.load(content, password);
    }
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, password);
    return keys.getKeyManagers();
  }

  private static String text(String file) throws IOException {
    Path path = Paths.get(file);
    return new String(Files.readAllBytes(path), StandardCharsets.UTF_8).trim();
  }

  /**
   * Jobs that may ask about the same table are equal, whatever their tokens: the next one may use
   * the connection of the last one, and the answers that it got.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof Credentials
        && ((Credentials) other).files.equals(files)
        && Objects.equals(((Credentials) other).table(), table());
  }

  @Override
  public int hashCode() {
    return Objects.hash(files, table());
  }

  private String table() {
    return brought == null ? null : brought.table();
  }
}
