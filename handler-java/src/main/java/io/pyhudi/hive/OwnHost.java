package io.pyhudi.hive;

import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * What a loopback address means: HiveServer2's own host there, and in a container of a cluster the
 * host where that happens to run, which is not meant.
 */
final class OwnHost {
  /** The variable in which YARN names the container to a process in one. */
  static final String CONTAINER = "CONTAINER_ID";

  private final boolean isMeant;

  /**
   * @param isMeant whether loopback addresses are meant for this JVM's host
   */
  OwnHost(boolean isMeant) {
    this.isMeant = isMeant;
  }

  /** HiveServer2 has its configuration files, even where it runs in a container itself. */
  static OwnHost here() {
    return new OwnHost(AdministratorSettings.load().areHere() || System.getenv(CONTAINER) == null);
  }

  /**
   * Returns the addresses that can be called here.
   *
   * @throws PruningException if there are some, but none of them is meant for this host
   */
  List<ServiceAddress> others(List<ServiceAddress> addresses) throws PruningException {
    if (isMeant) {
      return addresses;
    }
    List<ServiceAddress> others = new ArrayList<>(addresses);
    others.removeIf(ServiceAddress::isLoopback);
    if (others.isEmpty() && !addresses.isEmpty()) {
      throw new PruningException(
          Outcome.UNREACHABLE,
          addresses
              + " is this container's own host, not HiveServer2's: let the service listen on another"
              + " address (host, with token_file), and name it in hudi.pruning.service.addresses in"
              + " hive-site.xml");
    }
    return others;
  }
}
