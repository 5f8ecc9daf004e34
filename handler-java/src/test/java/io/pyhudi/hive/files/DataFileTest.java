package io.pyhudi.hive.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataFileTest {
  @TempDir java.nio.file.Path directory;

  private final JobConf job = new JobConf(CountedFileSystem.configuration());

  @BeforeEach
  void forget() {
    CountedFileSystem.take();
  }

  private byte[] write(String name, int length) throws IOException {
    byte[] content = new byte[length];
    new Random(length).nextBytes(content);
    byte[] magic = "PAR1".getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(magic, 0, content, length - 4, 4);
    Files.write(directory.resolve(name), content);
    return content;
  }

  private Path path(String name) {
    return new Path(CountedFileSystem.SCHEME + "://bucket" + directory.resolve(name));
  }

  /** Reads a part of a file as Parquet does: looks it up, opens it, seeks and reads fully. */
  private static byte[] part(JobConf settings, Path path, long start, int length)
      throws IOException {
    FileSystem fs = path.getFileSystem(settings);
    assertTrue(fs.getFileStatus(path).getLen() >= start + length);
    byte[] bytes = new byte[length];
    try (FSDataInputStream stream = fs.open(path)) {
      stream.seek(start);
      stream.readFully(bytes);
      assertEquals(start + length, stream.getPos());
    }
    return bytes;
  }

  @Test
  void aSmallFileIsFetchedOnce() throws Exception {
    byte[] content = write("small.parquet", 1000);
    Path path = path("small.parquet");
    DataFile.read(
        path,
        1000,
        job,
        settings -> {
          assertArrayEquals(Arrays.copyOfRange(content, 992, 1000), part(settings, path, 992, 8));
          assertArrayEquals(Arrays.copyOfRange(content, 0, 1000), part(settings, path, 0, 1000));
          return null;
        });
    assertEquals(Collections.singletonList("open small.parquet"), CountedFileSystem.take());
  }

  @Test
  void ofALargeFileTheEndIsFetchedOnceAndTheRestByOneStream() throws Exception {
    int length = 3 << 20;
    byte[] content = write("large.parquet", length);
    Path path = path("large.parquet");
    DataFile.read(
        path,
        length,
        job,
        settings -> {
          part(settings, path, length - 8, 8);
          part(settings, path, length - (1 << 18), 1 << 18);
          assertEquals(Collections.singletonList("open large.parquet"), CountedFileSystem.take());
          // Across the border of what is in memory.
          assertArrayEquals(
              Arrays.copyOfRange(content, 5, length - 5), part(settings, path, 5, length - 10));
          assertEquals(Collections.singletonList("open large.parquet"), CountedFileSystem.take());
          return null;
        });
  }

  @Test
  void anyReadsAreThoseOfTheFile() throws Exception {
    int length = (1 << 20) + 4321;
    byte[] content = write("any.parquet", length);
    Path path = path("any.parquet");
    Random random = new Random(7);
    DataFile.read(
        path,
        length,
        job,
        settings -> {
          try (FSDataInputStream stream = path.getFileSystem(settings).open(path)) {
            for (int i = 0; i < 200; i++) {
              int start = random.nextInt(length);
              byte[] buffer = new byte[1 + random.nextInt(length - start)];
              stream.seek(start);
              int count = stream.read(buffer);
              assertTrue(count > 0);
              assertArrayEquals(
                  Arrays.copyOfRange(content, start, start + count), Arrays.copyOf(buffer, count));
              assertEquals(start + count, stream.getPos());
            }
            stream.seek(length);
            assertEquals(-1, stream.read());
            Assertions.assertThrows(EOFException.class, () -> stream.seek(length + 1L));
          }
          return null;
        });
  }

  @Test
  void aReaderMayOpenItsFileLater() throws Exception {
    byte[] content = write("late.parquet", 100);
    Path path = path("late.parquet");
    JobConf kept = DataFile.read(path, 100, job, settings -> settings);
    CountedFileSystem.take();
    assertArrayEquals(content, part(kept, path, 0, 100));
    assertEquals(Collections.singletonList("open late.parquet"), CountedFileSystem.take());
  }

  @Test
  void otherFilesAreThoseOfTheFileSystem() throws Exception {
    write("a.parquet", 100);
    byte[] other = write("b.parquet", 50);
    DataFile.read(
        path("a.parquet"),
        100,
        job,
        settings -> {
          assertArrayEquals(other, part(settings, path("b.parquet"), 0, 50));
          return null;
        });
  }

  @Test
  void aWrongLengthIsNotUsed() throws Exception {
    byte[] content = write("wrong.parquet", 100);
    Path path = path("wrong.parquet");
    for (long length : new long[] {-1, 0, 60, 200, 3 << 20}) {
      JobConf settings = DataFile.read(path, length, job, given -> given);
      assertSame(job, settings, "length " + length);
      assertArrayEquals(content, part(settings, path, 0, 100));
    }
  }

  @Test
  void localFilesAreReadAsEver() throws Exception {
    write("local.parquet", 100);
    Path local = new Path("file://" + directory.resolve("local.parquet"));
    assertSame(job, DataFile.read(local, 100, job, given -> given));
  }

  @Test
  void theFileSystemOfOthersStaysOpenAndConfigured() throws Exception {
    write("c.parquet", 100);
    Path path = path("c.parquet");
    FileSystem before = path.getFileSystem(job);
    DataFile.read(
        path,
        100,
        job,
        settings -> {
          FileSystem own = path.getFileSystem(settings);
          assertFalse(own instanceof CountedFileSystem);
          own.close();
          return null;
        });
    assertSame(before, path.getFileSystem(job));
    assertEquals(100, before.getFileStatus(path).getLen());
    assertNull(job.get("io.pyhudi.hive.file"));
  }
}
