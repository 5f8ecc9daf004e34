package io.pyhudi.hive.table;

import static io.pyhudi.hive.table.MemoryEstimates.SKIPPED;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.commons.io.IOUtils;
import org.apache.hudi.common.util.ObjectSizeCalculator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MemoryEstimatesTest {
  @BeforeEach
  void forget() {
    SKIPPED.forEach(System::clearProperty);
  }

  @AfterEach
  void restore() {
    SKIPPED.forEach(property -> System.setProperty(property, "true"));
  }

  @Test
  void nothingIsAttached() {
    MemoryEstimates.withoutDebugger();
    assertEquals(
        Arrays.asList("true", "true"),
        SKIPPED.stream().map(System::getProperty).collect(Collectors.toList()));
  }

  @Test
  void anAdministratorMayAttachOne() {
    System.setProperty(SKIPPED.get(0), "false");
    MemoryEstimates.withoutDebugger();
    assertEquals(
        Arrays.asList("false", "true"),
        SKIPPED.stream().map(System::getProperty).collect(Collectors.toList()));
  }

  /** A JVM finds the layout of its objects once, so this needs one of its own. */
  @Test
  void hudiAttachesNothingOnceATableWasOpened() throws IOException, InterruptedException {
    String printed = printedBy(OpensATable.class);
    assertTrue(printed.contains("Serviceability Agent attach skipped"), printed);
  }

  private static String printedBy(Class<?> program) throws IOException, InterruptedException {
    String java = Paths.get(System.getProperty("java.home"), "bin", "java").toString();
    Process process =
        new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), program.getName())
            .redirectErrorStream(true)
            .start();
    String printed = IOUtils.toString(process.getInputStream(), UTF_8);
    assertEquals(0, process.waitFor(), printed);
    return printed;
  }

  /** Opens no file: the class of the tables decides, before any table is read. */
  static final class OpensATable {
    private OpensATable() {}

    public static void main(String[] arguments) throws ClassNotFoundException {
      Class.forName(HudiTable.class.getName());
      System.out.println(ObjectSizeCalculator.getObjectSize("a record"));
    }
  }
}
