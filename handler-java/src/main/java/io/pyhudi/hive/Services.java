package io.pyhudi.hive;

import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import java.util.List;

/** The services that may answer about a table, in the order in which to call them. */
public final class Services {
  private final List<ServiceAddress> addresses;
  private final Credentials credentials;

  private Services(List<ServiceAddress> addresses, Credentials credentials) {
    this.addresses = addresses;
    this.credentials = credentials;
  }

  /**
   * Returns the services of a table: those that the settings name, else HiveServer2's own one.
   *
   * @param patienceMillis how long to wait for its own one if that starts
   * @throws PruningException if this host reaches none of them, or its own one does not listen
   */
  public static Services of(PruningSettings settings, String basePath, long patienceMillis)
      throws PruningException {
    if (settings.hasOwnService()) {
      List<String> own = OwnService.ofThisJvm(patienceMillis);
      return new Services(
          ServiceAddress.parseList(own.get(0)), new Credentials("", "", "", own.get(1)));
    }
    List<ServiceAddress> reached = OwnHost.here().others(settings.addresses());
    return new Services(settings.order().of(reached, basePath), settings.credentials(basePath));
  }

  public List<ServiceAddress> addresses() {
    return addresses;
  }

  public Credentials credentials() {
    return credentials;
  }
}
