package io.pyhudi.hive.planning;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.ql.exec.FetchTask;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.exec.mr.ExecDriver;
import org.apache.hadoop.hive.ql.exec.tez.TezTask;
import org.apache.hadoop.hive.ql.plan.BaseWork;
import org.apache.hadoop.hive.ql.plan.ExplainWork;
import org.apache.hadoop.hive.ql.plan.FetchWork;
import org.apache.hadoop.hive.ql.plan.MapWork;

/** What scans tables in a plan. */
public final class PlannedScans {
  private PlannedScans() {}

  /** Returns the fetch tasks of the plan that an EXPLAIN shows. */
  public static List<FetchWork> fetches(ExplainWork explained) {
    List<FetchWork> works = new ArrayList<>();
    if (explained.getFetchTask() instanceof FetchTask) {
      works.add(((FetchTask) explained.getFetchTask()).getWork());
    }
    for (Task<?> task : rootTasks(explained)) {
      if (task instanceof FetchTask) {
        works.add(((FetchTask) task).getWork());
      }
    }
    return works;
  }

  /** Returns what the jobs of Tez and MapReduce do first. */
  public static List<MapWork> maps(ExplainWork explained) {
    return maps(rootTasks(explained));
  }

  /** Returns what the jobs of Tez and MapReduce among these tasks, and after them, do first. */
  public static List<MapWork> maps(List<Task<?>> tasks) {
    List<MapWork> works = new ArrayList<>();
    for (TezTask task : Utilities.getTezTasks(tasks)) {
      for (BaseWork work : task.getWork().getAllWork()) {
        if (work instanceof MapWork) {
          works.add((MapWork) work);
        }
      }
    }
    for (ExecDriver task : Utilities.getMRTasks(tasks)) {
      works.add(task.getWork().getMapWork());
    }
    return works;
  }

  private static List<Task<?>> rootTasks(ExplainWork explained) {
    List<Task<?>> tasks = explained.getRootTasks();
    return tasks == null ? Collections.emptyList() : tasks;
  }
}
