import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/**
 * A NodeManager that gives a job's intermediate files away without a look at who owns them.
 *
 * <p>With Kerberos it compares their owner with the job's user, by Hadoop's native library. Maven
 * has none, and without {@code LinuxContainerExecutor} one user owns all files.
 */
public final class TrustingNode {
  private TrustingNode() {}

  public static void main(String[] arguments) throws Exception {
    // The class decides when it is loaded, by what is configured then.
    UserGroupInformation.setConfiguration(new Configuration(false));
    Class.forName("org.apache.hadoop.io.SecureIOUtils");
    UserGroupInformation.setConfiguration(new YarnConfiguration());
    NodeManager.main(arguments);
  }
}
