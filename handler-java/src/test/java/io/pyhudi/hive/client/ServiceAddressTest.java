package io.pyhudi.hive.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collections;
import org.junit.jupiter.api.Test;

class ServiceAddressTest {
  @Test
  void readsHostsPortsAndIpv6() {
    assertEquals(
        Arrays.asList(
            new ServiceAddress("127.0.0.1", 9099),
            new ServiceAddress("::1", 9100),
            new ServiceAddress("pruning.example", 1)),
        ServiceAddress.parseList("127.0.0.1:9099, [::1]:9100 ,pruning.example:1"));
  }

  @Test
  void skipsInvalidAddresses() {
    assertEquals(
        Collections.emptyList(), ServiceAddress.parseList("here, :9099, x:0, x:99999, x:y,"));
  }
}
