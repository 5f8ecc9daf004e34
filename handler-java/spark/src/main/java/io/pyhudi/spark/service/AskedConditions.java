package io.pyhudi.spark.service;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The conditions by which an application has read its Hudi tables lately, as SQL, for the advisor
 * on indexes. A condition that was asked often is there as often.
 */
public final class AskedConditions {
  private static final int MOST = 5_000;
  private static final int LONGEST = 2_000;
  private static final Deque<Asked> LAST = new ArrayDeque<>();

  private AskedConditions() {}

  /** Takes a condition, and forgets the oldest one if there are many. */
  public static void add(String basePath, String condition) {
    if (condition.length() > LONGEST) {
      return; // the keys of a join, or a list of that kind
    }
    synchronized (LAST) {
      LAST.addLast(new Asked(basePath, condition));
      if (LAST.size() > MOST) {
        LAST.removeFirst();
      }
    }
  }

  /** Returns the conditions on the table whose base path this is, the oldest first. */
  public static List<String> about(Predicate<String> isTable) {
    synchronized (LAST) {
      return LAST.stream()
          .filter(asked -> isTable.test(asked.basePath))
          .map(asked -> asked.condition)
          .collect(Collectors.toList());
    }
  }

  private static final class Asked {
    final String basePath;
    final String condition;

    Asked(String basePath, String condition) {
      this.basePath = basePath;
      this.condition = condition;
    }
  }
}
