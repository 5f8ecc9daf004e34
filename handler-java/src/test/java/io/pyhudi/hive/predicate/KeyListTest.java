package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.Expressions.call;
import static io.pyhudi.hive.predicate.Expressions.column;
import static io.pyhudi.hive.predicate.Expressions.constant;
import static io.pyhudi.hive.predicate.Expressions.encode;
import static io.pyhudi.hive.predicate.Expressions.type;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.protocol.Keys;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.function.IntFunction;
import org.apache.hadoop.hive.common.type.Date;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.junit.jupiter.api.Test;

/** Which lists of constants are sent as keys, and that none of them is lost on the way. */
class KeyListTest {
  private static final int MANY = 1_000;

  private static List<ExprNodeDesc> constants(String type, IntFunction<Object> value) {
    List<ExprNodeDesc> constants = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      constants.add(constant(value.apply(i), type));
    }
    return constants;
  }

  private static Keys keys(String type, IntFunction<Object> value) throws Exception {
    return KeyList.of(constants(type, value), type(type)).toThrift();
  }

  private static long[] numbers(byte[] packed) {
    long[] numbers = new long[packed.length / Long.BYTES];
    ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(numbers);
    return numbers;
  }

  private static ExprNodeDesc in(ExprNodeDesc column, List<ExprNodeDesc> options) {
    List<ExprNodeDesc> children = new ArrayList<>();
    children.add(column);
    children.addAll(options);
    return call(new GenericUDFIn(), children.toArray(new ExprNodeDesc[0]));
  }

  private static Node root(ExprNodeDesc filter) {
    List<Node> nodes = FilterEncoder.encode(filter, new HiveConf(), Collections.emptySet());
    return nodes.get(nodes.size() - 1);
  }

  @Test
  void numbersThatFollowEachOtherAreOneRange() throws Exception {
    Keys keys = keys("int", i -> i % 500 - 100 + (i % 500 < 300 ? 0 : 1000));
    assertEquals(500, keys.getCount());
    assertEquals("[-100, 1200]", Arrays.toString(numbers(keys.getStarts())));
    assertEquals("[199, 1399]", Arrays.toString(numbers(keys.getEnds())));
    assertFalse(keys.isSetHasNull());
  }

  @Test
  void singleNumbersHaveNoEnds() throws Exception {
    Keys keys = keys("bigint", i -> 7L * (MANY - i));
    assertEquals(MANY, keys.getCount());
    assertFalse(keys.isSetEnds());
    assertEquals(7, numbers(keys.getStarts())[0]);
  }

  @Test
  void theEndsOfWhatALongHoldsAreKeysLikeOthers() throws Exception {
    long[] extremes = {Long.MAX_VALUE, Long.MIN_VALUE, -1, 0, Long.MAX_VALUE - 1};
    Keys keys = keys("bigint", i -> extremes[i % extremes.length]);
    assertEquals(5, keys.getCount());
    assertEquals(
        Arrays.toString(new long[] {Long.MIN_VALUE, -1, Long.MAX_VALUE - 1}),
        Arrays.toString(numbers(keys.getStarts())));
    assertEquals(
        Arrays.toString(new long[] {Long.MIN_VALUE, 0, Long.MAX_VALUE}),
        Arrays.toString(numbers(keys.getEnds())));
  }

  @Test
  void rangesHaveExactlyTheKeys() {
    Random random = new Random(29);
    for (int round = 0; round < 200; round++) {
      long[] numbers = random.longs(1 + random.nextInt(60), -50, 50).toArray();
      Keys keys = new Keys();
      KeyList.setRanges(keys, numbers.clone(), numbers.length);
      TreeSet<Long> expected = new TreeSet<>();
      Arrays.stream(numbers).forEach(expected::add);
      assertEquals(expected, values(keys));
      assertEquals(expected.size(), keys.getCount());
    }
  }

  @Test
  void joinedRangesLoseNoKey() {
    Random random = new Random(29);
    for (int round = 0; round < 200; round++) {
      long[] numbers = random.longs(1 + random.nextInt(60), -500, 500).toArray();
      int most = 1 + random.nextInt(10);
      Keys keys = new Keys();
      KeyList.setRanges(keys, numbers.clone(), most);
      long[] starts = numbers(keys.getStarts());
      assertTrue(starts.length <= most);
      TreeSet<Long> found = values(keys);
      for (long number : numbers) {
        assertTrue(found.contains(number));
      }
      assertTrue(keys.getCount() <= found.size());
    }
  }

  @Test
  void theSmallestGapsAreJoined() {
    Keys keys = new Keys();
    KeyList.setRanges(keys, new long[] {1, 3, 100, 200, 202}, 3);
    assertEquals("[1, 100, 200]", Arrays.toString(numbers(keys.getStarts())));
    assertEquals("[3, 100, 202]", Arrays.toString(numbers(keys.getEnds())));
    assertEquals(5, keys.getCount());
  }

  private static TreeSet<Long> values(Keys keys) {
    long[] starts = numbers(keys.getStarts());
    long[] ends = keys.isSetEnds() ? numbers(keys.getEnds()) : starts;
    TreeSet<Long> values = new TreeSet<>();
    for (int i = 0; i < starts.length; i++) {
      for (long value = starts[i]; value <= ends[i]; value++) {
        assertTrue(values.isEmpty() || values.last() < value);
        values.add(value);
      }
    }
    return values;
  }

  @Test
  void daysAndTimesAreNumbers() throws Exception {
    Keys days = keys("date", i -> Date.ofEpochDay(i - 10));
    assertEquals("[-10]", Arrays.toString(numbers(days.getStarts())));
    assertEquals("[989]", Arrays.toString(numbers(days.getEnds())));
    Keys times = keys("timestamp", i -> Timestamp.ofEpochSecond(i - 1, 5));
    assertEquals(-999_999_995L, numbers(times.getStarts())[0]);
    assertEquals(MANY, times.getCount());
  }

  @Test
  void textsAreInTheOrderOfTheirBytes() throws Exception {
    String[] texts = {"b", "\ud83d\ude00", "\uff5e", "", "ba", "b"};
    Keys keys = keys("string", i -> texts[i % texts.length]);
    assertEquals(5, keys.getCount());
    assertEquals("bba\uff5e\ud83d\ude00", new String(keys.getTexts(), StandardCharsets.UTF_8));
    assertEquals("[0, 1, 3, 6, 10]", Arrays.toString(numbers(keys.getTextEnds())));
  }

  @Test
  void aNullIsSaidApart() throws Exception {
    Keys keys = keys("int", i -> i == 500 ? null : i);
    assertEquals(MANY - 1, keys.getCount());
    assertTrue(keys.isHasNull());
  }

  @Test
  void aListIsANodeThatOlderServicesDoNotKnow() {
    Node node = root(in(column("I", "int"), constants("int", i -> i)));
    assertEquals(NodeKind.UNKNOWN, node.getKind());
    assertEquals(Collections.singletonList("i"), node.getPath());
    assertEquals("int", node.getType());
    assertEquals("i IN (1000 keys)", node.getText());
    assertFalse(FilterEncoder.isUnknown(Collections.singletonList(node)));
    assertTrue(FilterEncoder.isUnknown(Collections.singletonList(new Node(NodeKind.UNKNOWN))));
  }

  @Test
  void moreThanAServicesLimitOfLiteralsIsSentToo() {
    List<ExprNodeDesc> options = new ArrayList<>();
    for (int i = 0; i < 150_000; i++) {
      options.add(constant(2 * i, "int"));
    }
    assertEquals(150_000, root(in(column("i", "int"), options)).getKeys().getCount());
  }

  @Test
  void othersAreLiterals() throws Exception {
    assertTrue(
        encode(in(column("i", "int"), constants("int", i -> i).subList(0, 9))).contains("8:int"));
    assertNull(KeyList.of(constants("int", i -> i).subList(0, KeyList.LEAST - 1), type("int")));
    assertNull(KeyList.of(constants("bigint", Long::valueOf), type("int")));
    assertNull(KeyList.of(constants("double", i -> (double) i), type("double")));
    assertNull(
        KeyList.of(
            constants("timestamp", i -> Timestamp.valueOf("2300-01-01 00:00:00")),
            type("timestamp")));
    List<ExprNodeDesc> withColumn = constants("int", i -> i);
    withColumn.add(column("j", "int"));
    assertNull(KeyList.of(withColumn, type("int")));
  }

  @Test
  void moreBytesThanARequestHoldsAreUnknown() {
    char[] text = new char[10_000];
    Arrays.fill(text, 'x');
    List<ExprNodeDesc> texts = constants("string", i -> i + new String(text));
    assertThrows(InexpressibleException.class, () -> KeyList.of(texts, type("string")));
    assertTrue(
        FilterEncoder.isUnknown(Collections.singletonList(root(in(column("s", "string"), texts)))));
  }
}
