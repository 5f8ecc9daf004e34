import java.io.File;
import java.io.IOException;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;

/** Holds a planned query: it runs when a file `go` is in the directory held.query.directory. */
public final class HeldQuery implements ExecuteWithHookContext {
  private static final long MILLIS = 120_000;
  private static final long POLL_MILLIS = 50;

  @Override
  public void run(HookContext context) throws Exception {
    File directory = new File(context.getConf().get("held.query.directory"));
    if (!new File(directory, "planned").createNewFile()) {
      throw new IOException("two queries are held in " + directory);
    }
    long deadline = System.currentTimeMillis() + MILLIS;
    while (!new File(directory, "go").exists()) {
      if (System.currentTimeMillis() > deadline) {
        throw new IOException("nobody lets the query in " + directory + " go");
      }
      Thread.sleep(POLL_MILLIS);
    }
  }
}
