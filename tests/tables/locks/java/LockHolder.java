import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.config.LockConfiguration;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.lock.LockProvider;
import org.apache.hudi.storage.StorageConfiguration;
import org.apache.hudi.storage.hadoop.HadoopStorageConfiguration;

/**
 * Takes a lock by a provider of Hudi, as its command line and standard input say.
 *
 * <p>Arguments: the provider's class, then settings as key=value. Each line of the input is a
 * command: {@code lock MILLISECONDS} or {@code unlock}; the answer is {@code true}, {@code false},
 * or {@code failed} and why.
 */
public final class LockHolder {
  private LockHolder() {}

  public static void main(String[] arguments) throws Exception {
    TypedProperties settings = new TypedProperties();
    for (int i = 1; i < arguments.length; i++) {
      String[] parts = arguments[i].split("=", 2);
      settings.setProperty(parts[0], parts[1]);
    }
    LockProvider<?> provider =
        (LockProvider<?>)
            Class.forName(arguments[0])
                .getConstructor(LockConfiguration.class, StorageConfiguration.class)
                .newInstance(
                    new LockConfiguration(settings),
                    new HadoopStorageConfiguration(new Configuration()));
    System.out.println("ready");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(answer(provider, line.split(" ")).replace('\n', ' '));
    }
    provider.close();
    System.exit(0);
  }

  private static String answer(LockProvider<?> provider, String[] command) {
    try {
      if (command[0].equals("unlock")) {
        provider.unlock();
        return "true";
      }
      long wait = Long.parseLong(command[1]);
      return String.valueOf(provider.tryLock(wait, TimeUnit.MILLISECONDS));
    } catch (Exception error) {
      return "failed " + error;
    }
  }
}
