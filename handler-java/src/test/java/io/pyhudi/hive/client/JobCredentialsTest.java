package io.pyhudi.hive.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobCredentialsTest {
  private static final String SECRET = "0123456789abcdef";
  private static final String TABLE = "/warehouse/fürth";
  private static final long EXPIRES = 1_800_000_000;

  /** The text is also in tests/service/test_job_tokens.py. */
  private static final String SIGNED =
      "job1.MTgwMDAwMDAwMAovd2FyZWhvdXNlL2bDvHJ0aA."
          + "e5XZ0B19glEryfJiver9svw6gqutY93McwPPsNBpNtQ";

  @TempDir Path directory;

  private Path file(String name, String content) throws IOException {
    return Files.write(directory.resolve(name), content.getBytes(StandardCharsets.UTF_8));
  }

  private static String shown(Credentials credentials) throws IOException {
    return new String(credentials.preface(), StandardCharsets.UTF_8);
  }

  @Test
  void theServiceReadsWhatIsSigned() {
    assertEquals(SIGNED, SignedToken.of(SECRET, TABLE, EXPIRES));
  }

  @Test
  void aJobBringsASignedTokenAndAuthoritiesAndNoSecret() throws IOException {
    Path authorities = file("ca.pem", "-----BEGIN CERTIFICATE-----");
    Credentials ofServer =
        new Credentials(authorities.toString(), "", "", file("token", SECRET + "\n").toString());
    byte[] written = ofServer.forJob(TABLE, EXPIRES).toBytes();
    assertTrue(!new String(written, StandardCharsets.ISO_8859_1).contains(SECRET));
    JobCredentials read = JobCredentials.of(written);
    assertEquals(SIGNED, read.token());
    assertEquals(TABLE, read.table());
    assertArrayEquals(Files.readAllBytes(authorities), read.authorities());
  }

  @Test
  void aHostWithoutTheFileShowsWhatTheJobBrought() throws IOException {
    Path file = file("token", SECRET);
    JobCredentials brought = new Credentials("", "", "", file.toString()).forJob(TABLE, EXPIRES);
    Credentials here = new Credentials("", "", "", file.toString()).with(brought);
    assertEquals("pyhudi-token " + SECRET, shown(here));
    Credentials there = new Credentials("", "", "", "/nowhere/token").with(brought);
    assertEquals("pyhudi-token " + SIGNED, shown(there));
    assertThrows(NoSuchFileException.class, () -> shown(there.with(null)));
  }

  @Test
  void aServiceWithoutTokenAndTlsNeedsNothing() throws IOException {
    assertNull(Credentials.NONE.forJob(TABLE, EXPIRES));
  }

  @Test
  void jobsOfOneTableShareConnectionsAndAnswers() {
    Credentials files = new Credentials("", "", "", "/nowhere/token");
    JobCredentials first = new JobCredentials(TABLE, "a", new byte[0]);
    JobCredentials next = new JobCredentials(TABLE, "b", new byte[0]);
    JobCredentials other = new JobCredentials("/another", "a", new byte[0]);
    assertEquals(files.with(first), files.with(next));
    assertEquals(files.with(first).hashCode(), files.with(next).hashCode());
    assertNotEquals(files.with(first), files.with(other));
    assertNotEquals(files.with(first), files);
  }

  @Test
  void anotherFormIsNotRead() {
    IOException failure =
        assertThrows(IOException.class, () -> JobCredentials.of(new byte[] {0, 0, 0, 2}));
    assertTrue(failure.getMessage().contains("one version of the handler's jar"));
  }
}
