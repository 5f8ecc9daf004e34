package io.pyhudi.hive.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
  @Test
  void escapesCharactersThatJsonForbids() {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("text", "a\"b\\c\nd é 😀");
    fields.put("number", 3L);
    fields.put("object", Collections.singletonMap("a", 1));
    fields.put("truth", true);
    fields.put("nothing", null);
    assertEquals(
        "{\"text\":\"a\\\"b\\\\c\\u000ad é \\ud83d\\ude00\",\"number\":3,\"object\":{\"a\":1},\"truth\":true,\"nothing\":null}",
        Json.object(fields));
  }
}
