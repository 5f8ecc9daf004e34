package io.pyhudi.hive.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.pyhudi.hive.rows.RowRanges;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeyRowsTest {
  private static final int ROWS = 4000;
  private static final MessageType KEYED =
      MessageTypeParser.parseMessageType(
          "message m { optional int32 v; optional binary _hoodie_record_key (STRING); }");
  private static final MessageType NUMBERED =
      MessageTypeParser.parseMessageType("message m { optional int64 _hoodie_record_key; }");

  @TempDir java.nio.file.Path directory;

  private final JobConf job = new JobConf(new Configuration());

  /** Writes keys of which every ninth is NULL, and some are there twice. */
  private Path write(WriterVersion version, boolean hasDictionary, CompressionCodecName codec)
      throws Exception {
    Path path = new Path("file://" + directory.resolve("keys.parquet"));
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(path)
            .withType(KEYED)
            .withWriterVersion(version)
            .withCompressionCodec(codec)
            .withDictionaryEncoding(hasDictionary)
            // The second row group has keys in a dictionary, and others behind it.
            .withDictionaryPageSize(3000)
            .withPageSize(512)
            .withRowGroupSize(16_384L)
            .build()) {
      for (int row = 0; row < ROWS; row++) {
        Group group = new SimpleGroup(KEYED).append("v", row);
        writer.write(row % 9 == 0 ? group : group.append("_hoodie_record_key", key(row)));
      }
    }
    return path;
  }

  private static String key(int row) {
    return "k\u00e9y " + row % 3000;
  }

  private static KeySet keys(String... keys) {
    return KeySet.of(Arrays.asList(keys));
  }

  private KeyRows find(Path path, KeySet keys) throws Exception {
    long length = path.getFileSystem(job).getFileStatus(path).getLen();
    return KeyRows.find(path, length, keys, job);
  }

  @ParameterizedTest
  @CsvSource({
    "PARQUET_1_0, true, GZIP",
    "PARQUET_1_0, false, UNCOMPRESSED",
    "PARQUET_2_0, true, UNCOMPRESSED",
    "PARQUET_2_0, false, GZIP"
  })
  void rowsOfKeysAreFound(WriterVersion version, boolean hasDictionary, CompressionCodecName codec)
      throws Exception {
    Path path = write(version, hasDictionary, codec);
    KeyRows found = find(path, keys(key(1), key(2), key(9), key(500), key(2999), "none"));
    assertEquals(ROWS, found.fileRows());
    RowRanges expected =
        RowRanges.of(
            new long[] {1, 500, 2999, 3001, 3009, 3500},
            new long[] {3, 501, 3000, 3003, 3010, 3501});
    assertEquals(expected, found.rows());
    int[] numbers = {1, 2, 500, 2999, 1, 2, 9, 500};
    for (int i = 0; i < numbers.length; i++) {
      assertEquals(key(numbers[i]), found.key(i));
    }
    assertEquals(RowRanges.between(0, 0), find(path, keys("none")).rows());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void keysThatAreNoTextsAreNotFound(boolean hasDictionary) throws Exception {
    Path path = new Path("file://" + directory.resolve("numbers.parquet"));
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(path)
            .withType(NUMBERED)
            .withDictionaryEncoding(hasDictionary)
            .build()) {
      writer.write(new SimpleGroup(NUMBERED).append("_hoodie_record_key", 1L));
    }
    assertNull(find(path, keys("1")));
  }
}
