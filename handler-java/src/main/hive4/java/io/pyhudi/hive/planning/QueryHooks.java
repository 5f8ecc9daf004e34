package io.pyhudi.hive.planning;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.metadata.Hive;

/** The hooks of one query, in its own configuration. */
public final class QueryHooks {
  private static final String BEFORE_EXECUTION = "hive.exec.pre.hooks";

  private QueryHooks() {}

  /** Has a hook run before the query that the current thread compiles, if it compiles one. */
  public static void addBefore(Class<? extends ExecuteWithHookContext> hook) {
    Hive hive = Hive.getThreadLocal();
    if (hive == null) {
      return;
    }
    Configuration conf = hive.getConf();
    String name = hook.getName();
    if (!conf.getStringCollection(BEFORE_EXECUTION).contains(name)) {
      String hooks = conf.get(BEFORE_EXECUTION, "").trim();
      conf.set(BEFORE_EXECUTION, hooks.isEmpty() ? name : hooks + "," + name);
    }
  }
}
