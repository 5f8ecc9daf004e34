package io.pyhudi.hive.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * The credentials by which the handler and a service authenticate each other. All are names of
 * files, which are read for each new connection: a renewed certificate or token needs no restart.
 */
public final class Credentials {
  /** Plain connections without a token. */
  static final Credentials NONE = new Credentials("", "", "", "");

  /** The prefix of a connection's first frame, the same constant as in the service. */
  private static final String PREFACE = "pyhudi-token ";

  private final List<String> files;

  /**
   * @param authorities PEM file with the authorities of the services' certificates; empty: no TLS
   * @param keystore PKCS #12 file with this side's key and certificate, or empty
   * @param passwordFile file with its password, or empty
   * @param tokenFile file with the token that services require, or empty
   */
  public Credentials(String authorities, String keystore, String passwordFile, String tokenFile) {
    files = Arrays.asList(authorities, keystore, passwordFile, tokenFile);
  }

  /** Returns the first frame of a connection, or null. */
  byte[] preface() throws IOException {
    String file = files.get(3);
    return file.isEmpty() ? null : (PREFACE + text(file)).getBytes(StandardCharsets.UTF_8);
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
    try (InputStream pem = Files.newInputStream(Paths.get(files.get(0)))) {
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

  @Override
  public boolean equals(Object other) {
    return other instanceof Credentials && ((Credentials) other).files.equals(files);
  }

  @Override
  public int hashCode() {
    return files.hashCode();
  }
}
