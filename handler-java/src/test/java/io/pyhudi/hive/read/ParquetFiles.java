package io.pyhudi.hive.read;

import io.pyhudi.hive.protocol.SelectedRows;
import io.pyhudi.hive.rows.RowRanges;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.hadoop.util.HadoopOutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** Parquet files of many small pages, with columns of all types. */
final class ParquetFiles {
  static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType(
          "message rows {"
              + " required int64 id;"
              + " optional int32 i;"
              + " optional int32 small (INTEGER(8, true));"
              + " optional int64 l;"
              + " optional float f;"
              + " optional double d;"
              + " optional boolean b;"
              + " optional binary s (STRING);"
              + " optional binary word (STRING);"
              + " optional binary bin;"
              + " optional fixed_len_byte_array(9) dec (DECIMAL(20, 3));"
              + " optional int32 day (DATE);"
              + " optional int64 ts (TIMESTAMP(MICROS, true));"
              + " optional int96 old_ts;"
              + " optional group st { optional int32 a; optional binary t (STRING); }"
              + " optional group li (LIST) { repeated group list { optional int32 element; } }"
              + " optional group ls (LIST) { repeated group list { optional binary element"
              + "   (STRING); } }"
              + " optional group m (MAP) { repeated group key_value { required binary key (STRING);"
              + "   optional int32 value; } }"
              + " optional group deep (LIST) { repeated group list { optional group element {"
              + "   optional int64 x; optional group ys (LIST) { repeated group list {"
              + "   optional binary element (STRING); } } } } }"
              + "}");

  /** The columns as Hive declares them. */
  static final String[] NAMES = {
    "id", "i", "small", "l", "f", "d", "b", "s", "word", "bin", "dec", "day", "ts", "old_ts", "st",
    "li", "ls", "m", "deep"
  };

  static final String[] TYPES = {
    "bigint",
    "int",
    "tinyint",
    "bigint",
    "float",
    "double",
    "boolean",
    "string",
    "string",
    "binary",
    "decimal(20,3)",
    "date",
    "timestamp",
    "timestamp",
    "struct<a:int,t:string>",
    "array<int>",
    "array<string>",
    "map<string,int>",
    "array<struct<x:bigint,ys:array<string>>>"
  };

  private ParquetFiles() {}

  /** How a file is written. */
  static final class Layout {
    private final WriterVersion version;
    private final CompressionCodecName codec;
    private final boolean hasDictionaries;
    private final int pageRows;

    Layout(WriterVersion version, CompressionCodecName codec, boolean hasDictionaries, int rows) {
      this.version = version;
      this.codec = codec;
      this.hasDictionaries = hasDictionaries;
      this.pageRows = rows;
    }

    @Override
    public String toString() {
      return version + " " + codec + " " + hasDictionaries + " " + pageRows;
    }
  }

  static Path write(Path path, Configuration conf, Layout layout, int rows, long seed)
      throws IOException {
    Random random = new Random(seed);
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(HadoopOutputFile.fromPath(path, conf))
            .withConf(conf)
            .withType(SCHEMA)
            .withWriterVersion(layout.version)
            .withCompressionCodec(layout.codec)
            .withDictionaryEncoding(layout.hasDictionaries)
            .withDictionaryPageSize(2000)
            .withPageRowCountLimit(layout.pageRows)
            .withMinRowCountForPageSizeCheck(7)
            .withPageSize(700)
            .withRowGroupSize(150_000L)
            .build()) {
      for (int row = 0; row < rows; row++) {
        writer.write(row(random, row));
      }
    }
    return path;
  }

  private static Group row(Random random, int row) {
    Group group = new SimpleGroup(SCHEMA);
    group.add("id", (long) row);
    // NULLs alone for a while, too.
    boolean isSparse = row / 150 % 4 == 3;
    boolean[] has = new boolean[NAMES.length];
    for (int i = 0; i < has.length; i++) {
      has[i] = !isSparse && random.nextInt(5) > 0;
    }
    if (has[1]) group.add("i", random.nextInt());
    if (has[2]) group.add("small", random.nextInt(200) - 100);
    if (has[3]) group.add("l", row * 1000L + random.nextInt(1000));
    if (has[4]) group.add("f", random.nextInt(9) == 0 ? Float.NaN : random.nextFloat());
    if (has[5]) group.add("d", random.nextInt(9) == 0 ? -0.0 : random.nextGaussian());
    if (has[6]) group.add("b", random.nextBoolean());
    if (has[7])
      group.add(
          "s",
          "row " + row + String.join("", java.util.Collections.nCopies(random.nextInt(30), "x")));
    if (has[8]) group.add("word", "word " + random.nextInt(row < 600 ? 5 : 5000));
    if (has[9]) group.add("bin", bytes(random, random.nextInt(8)));
    if (has[10]) group.add("dec", bytes(random, 9, 1));
    if (has[11]) group.add("day", random.nextInt(30000) - 5000);
    if (has[12]) group.add("ts", 1_600_000_000_000_000L + random.nextInt());
    if (has[13]) group.add("old_ts", int96(random));
    if (has[14]) {
      Group struct = group.addGroup("st");
      if (random.nextBoolean()) struct.add("a", random.nextInt(100));
      if (random.nextBoolean()) struct.add("t", "t" + random.nextInt(3));
    }
    if (has[15]) {
      Group list = group.addGroup("li");
      for (int left = 1 + random.nextInt(6); left > 0; left--) {
        list.addGroup("list").add("element", random.nextInt(50));
      }
    }
    if (has[16]) {
      Group list = group.addGroup("ls");
      for (int left = 1 + random.nextInt(3); left > 0; left--) {
        list.addGroup("list").add("element", "e" + random.nextInt(9));
      }
    }
    if (has[17]) {
      Group map = group.addGroup("m");
      for (int key = 1 + random.nextInt(3); key > 0; key--) {
        Group entry = map.addGroup("key_value");
        entry.add("key", "k" + key);
        entry.add("value", random.nextInt());
      }
    }
    if (has[18]) {
      Group list = group.addGroup("deep");
      for (int left = random.nextInt(4); left > 0; left--) {
        Group element = list.addGroup("list").addGroup("element");
        if (random.nextBoolean()) element.add("x", random.nextLong());
        if (random.nextBoolean()) {
          Group inner = element.addGroup("ys");
          for (int most = random.nextInt(3); most > 0; most--) {
            Group item = inner.addGroup("list");
            if (random.nextBoolean()) item.add("element", "y" + random.nextInt(4));
          }
        }
      }
    }
    return group;
  }

  private static Binary int96(Random random) {
    ByteBuffer bytes = ByteBuffer.allocate(12).order(java.nio.ByteOrder.LITTLE_ENDIAN);
    bytes.putLong(random.nextInt(1_000_000_000)).putInt(2_459_000 + random.nextInt(500));
    return Binary.fromConstantByteArray(bytes.array());
  }

  private static Binary bytes(Random random, int length) {
    return bytes(random, length, 0);
  }

  private static Binary bytes(Random random, int length, int zeros) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    Arrays.fill(bytes, 0, Math.min(length, zeros), (byte) 0);
    return Binary.fromConstantByteArray(bytes);
  }

  /** Returns what a service says of a file of which these rows can match. */
  static SelectedRows answer(Path path, Configuration conf, long[] starts, long[] ends)
      throws Exception {
    FileSystem fs = path.getFileSystem(conf);
    long size = fs.getFileStatus(path).getLen();
    byte[] digest;
    try (FSDataInputStream stream = fs.open(path)) {
      byte[] tail = new byte[8];
      stream.readFully(size - 8, tail);
      byte[] metadata =
          new byte[ByteBuffer.wrap(tail).order(java.nio.ByteOrder.LITTLE_ENDIAN).getInt()];
      stream.readFully(size - 8 - metadata.length, metadata);
      digest = MessageDigest.getInstance("SHA-256").digest(metadata);
    }
    List<BlockMetaData> groups = groups(path, conf);
    return new SelectedRows(
        "",
        path.getName(),
        size,
        ByteBuffer.wrap(digest),
        list(starts),
        list(ends),
        groups.stream().map(BlockMetaData::getRowCount).collect(Collectors.toList()),
        groups.stream().map(BlockMetaData::getStartingPos).collect(Collectors.toList()),
        groups.stream().map(BlockMetaData::getCompressedSize).collect(Collectors.toList()));
  }

  static List<BlockMetaData> groups(Path path, Configuration conf) throws IOException {
    try (ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, conf))) {
      return reader.getFooter().getBlocks();
    }
  }

  private static List<Long> list(long[] values) {
    return LongStream.of(values).boxed().collect(Collectors.toList());
  }

  /** Returns random ranges of rows. */
  static long[][] ranges(Random random, int rows) {
    int longest = 1 << random.nextInt(11);
    List<Long> starts = new ArrayList<>();
    List<Long> ends = new ArrayList<>();
    long row = random.nextInt(longest + 1);
    while (row < rows) {
      long end = Math.min(rows, row + 1 + random.nextInt(longest));
      starts.add(row);
      ends.add(end);
      row = end + 1 + random.nextInt(1 << random.nextInt(11));
    }
    return new long[][] {
      starts.stream().mapToLong(Long::longValue).toArray(),
      ends.stream().mapToLong(Long::longValue).toArray()
    };
  }

  static RowRanges toRanges(long[][] ranges) {
    return RowRanges.of(ranges[0], ranges[1]);
  }
}
