package io.pyhudi.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OwnHostTest {
  private static final OwnHost SERVER = new OwnHost(true);
  private static final OwnHost CONTAINER = new OwnHost(false);

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:9099", "127.8.0.9:1", "localhost:2", "LOCALHOST:2", "[::1]:3"})
  void loopbackIsCalledInHiveServer2Only(String address) throws PruningException {
    List<ServiceAddress> addresses = ServiceAddress.parseList(address);
    assertEquals(addresses, SERVER.others(addresses));
    PruningException failure =
        assertThrows(PruningException.class, () -> CONTAINER.others(addresses));
    assertEquals(Outcome.UNREACHABLE, failure.outcome());
    assertTrue(failure.getMessage().contains("hudi.pruning.service.addresses"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"127.example.com:1", "localhost.example.com:1", "10.0.0.1:1", "[fd00::1]:1"})
  void otherHostsAreCalledEverywhere(String address) throws PruningException {
    List<ServiceAddress> addresses = ServiceAddress.parseList(address);
    assertEquals(1, addresses.size());
    assertEquals(addresses, CONTAINER.others(addresses));
  }

  @Test
  void ofSeveralAddressesTheOthersAreCalled() throws PruningException {
    List<ServiceAddress> addresses = ServiceAddress.parseList("localhost:1,pruning:2");
    assertEquals(ServiceAddress.parseList("pruning:2"), CONTAINER.others(addresses));
  }

  @Test
  void noAddressIsNoLoopbackAddress() throws PruningException {
    assertEquals(Collections.emptyList(), CONTAINER.others(Collections.emptyList()));
  }
}
