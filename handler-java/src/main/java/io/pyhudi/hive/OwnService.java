package io.pyhudi.hive;

import io.pyhudi.hive.client.Companion;
import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pruning service that HiveServer2 starts if its administrator names none. There is one for a
 * JVM: sessions that ADD JAR load this class again, so it is found by its name in JMX, where only
 * the first can register it.
 */
public final class OwnService implements OwnServiceMBean {
  private static final Logger LOG = LoggerFactory.getLogger(OwnService.class);
  private static final String NAME = "io.pyhudi:type=OwnService";

  private static final String ADVICE =
      "name a Python with the package pyhudi-expr[service] by "
          + PruningSettings.PYTHON
          + ", or a running service by "
          + PruningSettings.ADDRESSES
          + ", in hive-site.xml";

  private static final String ONE_HOST =
      "no service is named, and HiveServer2's own one answers on its host only: start one that all"
          + " hosts reach, and name it by "
          + PruningSettings.ADDRESSES
          + " in hive-site.xml";

  private final Companion companion;

  private OwnService(Companion companion) {
    this.companion = companion;
  }

  /**
   * Returns where the service of this JVM listens, and the file of its token. A query that is
   * planned here starts it; containers of a cluster and children of HiveServer2 have none.
   *
   * @param patienceMillis how long to wait for a service that starts
   * @throws PruningException if there is none, or it does not listen by then
   */
  static List<String> ofThisJvm(long patienceMillis) throws PruningException {
    String[] found;
    try {
      found = found(patienceMillis);
    } catch (JMException | IOException e) {
      throw new PruningException(
          Outcome.UNREACHABLE, "HiveServer2's own pruning service cannot be started: " + e, e);
    }
    if (found[0].isEmpty()) {
      throw new PruningException(Outcome.UNREACHABLE, found[1]);
    }
    return Arrays.asList(found);
  }

  private static String[] found(long patienceMillis)
      throws JMException, IOException, PruningException {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    ObjectName name = new ObjectName(NAME);
    if (!beans.isRegistered(name)) {
      SessionState session = SessionState.get();
      if (session == null || !AdministratorSettings.load().areHere()) {
        throw new PruningException(Outcome.UNREACHABLE, ONE_HOST);
      }
      start(beans, name, session.getConf());
    }
    return (String[])
        beans.invoke(
            name, "endpoint", new Object[] {patienceMillis}, new String[] {long.class.getName()});
  }

  private static void start(MBeanServer beans, ObjectName name, Configuration session)
      throws JMException, IOException {
    String named = AdministratorSettings.load().get(PruningSettings.PYTHON);
    List<String> interpreters =
        named == null || named.trim().isEmpty()
            ? Arrays.asList("python3", "python")
            : Collections.singletonList(named.trim());
    Companion companion = Companion.start(interpreters, Collections.emptyMap(), ADVICE);
    try {
      beans.registerMBean(new OwnService(companion), name);
    } catch (InstanceAlreadyExistsException e) {
      LOG.debug("another class loader was first", e);
      companion.stop();
      return;
    }
    boolean splitsInContainers =
        "tez".equals(session.get("hive.execution.engine"))
            && !session.getBoolean("tez.local.mode", false);
    if (splitsInContainers) {
      LOG.info("queries whose splits are made in Tez's containers are not pruned: {}", ONE_HOST);
    }
  }

  @Override
  public String[] endpoint(long patienceMillis) {
    try {
      String address = companion.address(patienceMillis).toString();
      return new String[] {address, companion.token().toString()};
    } catch (PruningException e) {
      return new String[] {"", e.getMessage()};
    }
  }
}
