package io.pyhudi.hive.scan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;

class SplitCombinerTest {
  private static final Path TABLE = new Path("hdfs://cluster/table");

  private static HudiSplit split(String path, long length, String... hosts) throws IOException {
    return HudiSplit.plain(new FileSplit(new Path(TABLE, path), 0, length, hosts), length);
  }

  /** The names of the files of each split. */
  private static List<List<String>> names(List<? extends InputSplit> splits) {
    List<List<String>> names = new ArrayList<>();
    for (InputSplit split : splits) {
      List<String> parts = new ArrayList<>();
      if (split instanceof CombinedSplit) {
        ((CombinedSplit) split).parts().forEach(part -> parts.add(part.getPath().getName()));
      } else {
        parts.add(((FileSplit) split).getPath().getName());
      }
      names.add(parts);
    }
    return names;
  }

  private static List<InputSplit> combine(long size, List<Path> locations, HudiSplit... splits)
      throws IOException {
    return new SplitCombiner(locations, size).combine(Arrays.asList(splits));
  }

  private static List<InputSplit> combine(long size, HudiSplit... splits) throws IOException {
    return combine(size, Collections.singletonList(TABLE), splits);
  }

  @Test
  void smallSplitsFillOneOfTheSize() throws IOException {
    List<InputSplit> found =
        combine(100, split("a", 40), split("b", 60), split("c", 1), split("d", 200), split("e", 1));
    assertEquals(
        Arrays.asList(
            Arrays.asList("a", "b"),
            Collections.singletonList("c"),
            Collections.singletonList("d"),
            Collections.singletonList("e")),
        names(found));
    assertEquals(100, found.get(0).getLength());
    assertInstanceOf(HudiSplit.class, found.get(2));
  }

  @Test
  void partsHaveAHostInCommonAndHostsHaveEqualShares() throws IOException {
    List<InputSplit> found =
        combine(
            1000,
            split("a", 10, "x", "y"),
            split("b", 10, "x", "y"),
            split("c", 10, "x", "y"),
            split("d", 10, "z"),
            split("e", 10, "y", "x"));
    assertEquals(
        Arrays.asList(
            Arrays.asList("a", "c"), Arrays.asList("b", "e"), Collections.singletonList("d")),
        names(found));
    assertArrayEquals(new String[] {"x"}, found.get(0).getLocations());
    assertArrayEquals(new String[] {"y"}, found.get(1).getLocations());
  }

  @Test
  void partitionsStayApart() throws IOException {
    List<Path> partitions = Arrays.asList(new Path(TABLE, "p=1"), new Path(TABLE, "p=10"));
    List<InputSplit> found =
        combine(1000, partitions, split("p=1/a", 1), split("p=10/b", 1), split("p=1/c", 1));
    assertEquals(Arrays.asList(Arrays.asList("a", "c"), Arrays.asList("b")), names(found));
  }

  @Test
  void partitionsWithinOneLocationAreCombined() throws IOException {
    assertEquals(
        Collections.singletonList(Arrays.asList("a", "b")),
        names(combine(1000, split("p=1/a", 1), split("p=2/b", 1))));
  }

  @Test
  void aCombinedSplitTravels() throws IOException {
    CombinedSplit split = CombinedSplit.of(Arrays.asList(split("a", 3), split("b", 4)), "x");
    DataOutputBuffer out = new DataOutputBuffer();
    split.write(out);
    DataInputBuffer in = new DataInputBuffer();
    in.reset(out.getData(), out.getLength());
    CombinedSplit copy = new CombinedSplit();
    copy.readFields(in);
    assertEquals(split.getPath(), copy.getPath());
    assertEquals(7, copy.getLength());
    assertEquals(Arrays.asList("a", "b"), names(Collections.singletonList(copy)).get(0));
    assertEquals(4, copy.parts().get(1).fileLength());
  }

  @Test
  void splitsOfAFetchTaskStayAsTheyAre() throws IOException {
    List<HudiSplit> splits = Arrays.asList(split("a", 1), split("b", 1));
    assertEquals(
        splits,
        SplitCombiner.combine(new JobConf(false), Collections.singletonList(TABLE), splits));
  }
}
