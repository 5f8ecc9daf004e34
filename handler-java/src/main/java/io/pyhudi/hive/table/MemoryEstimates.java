package io.pyhudi.hive.table;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * How Hudi finds out how much memory a record takes: by JOL, which needs the layout of objects.
 *
 * <p>For that JOL attaches an agent and a debugger to its own process, by up to three other JVMs.
 * It takes seconds, and sometimes never ends (apache/hudi#11879). While the debugger reads, no
 * thread of the process runs: in HiveServer2 no query. Without them JOL finds the layout by
 * experiments on objects of its own.
 */
final class MemoryEstimates {
  static final List<String> SKIPPED =
      Collections.unmodifiableList(
          Arrays.asList("jol.skipHotspotSAAttach", "jol.skipDynamicAttach"));

  private MemoryEstimates() {}

  /** Lets JOL attach nothing to this process, unless an administrator has decided about it. */
  static void withoutDebugger() {
    for (String property : SKIPPED) {
      if (System.getProperty(property) == null) {
        System.setProperty(property, "true");
      }
    }
  }
}
