package io.pyhudi.hive.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ServiceOrderTest {
  private static final int TABLES = 2_000;

  private static List<ServiceAddress> services(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> new ServiceAddress("pruning-" + i, 9099))
        .collect(Collectors.toList());
  }

  private static String table(int number) {
    return "s3a://lake/sales/table_" + number;
  }

  private static List<ServiceAddress> order(int number, List<ServiceAddress> services) {
    return ServiceOrder.TABLE.of(services, table(number));
  }

  /** The Python package's test `test_service_order` reads the same file. */
  @Test
  void theOrderIsThatOfThePythonPackage() throws Exception {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                getClass().getResourceAsStream("/service-orders.txt"), StandardCharsets.UTF_8))) {
      int read = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] parts = line.split("\t");
        assertEquals(
            ServiceAddress.parseList(parts[2]),
            ServiceOrder.TABLE.of(ServiceAddress.parseList(parts[1]), parts[0]),
            line);
        read++;
      }
      assertTrue(read > 10);
    }
  }

  @Test
  void theListedOrderIsKept() {
    List<ServiceAddress> services = services(5);
    for (int i = 0; i < 20; i++) {
      assertEquals(services, ServiceOrder.LISTED.of(services, table(i)));
    }
  }

  @Test
  void eachServiceIsTheFirstForItsShareOfTheTables() {
    for (int count : new int[] {2, 3, 7}) {
      Map<ServiceAddress, Integer> firsts = new HashMap<>();
      for (int i = 0; i < TABLES; i++) {
        firsts.merge(order(i, services(count)).get(0), 1, Integer::sum);
      }
      double share = (double) TABLES / count;
      firsts.values().forEach(found -> assertEquals(share, found, share / 4));
      assertEquals(count, firsts.size());
    }
  }

  @Test
  void anAddedServiceTakesItsShareAndNoOtherTableMoves() {
    ServiceAddress added = services(5).get(4);
    int moved = 0;
    for (int i = 0; i < TABLES; i++) {
      ServiceAddress after = order(i, services(5)).get(0);
      if (!after.equals(order(i, services(4)).get(0))) {
        assertEquals(added, after);
        moved++;
      }
    }
    assertEquals(TABLES / 5.0, moved, TABLES / 20.0);
  }

  @Test
  void theTablesOfARemovedServiceGoToTheirNextOnes() {
    for (int i = 0; i < TABLES; i++) {
      List<ServiceAddress> before = order(i, services(5));
      List<ServiceAddress> others = new ArrayList<>(services(5));
      others.remove(before.get(0));
      assertEquals(before.subList(1, 5), order(i, others));
    }
  }

  @Test
  void theSettingsOrderOfTheAddressesDoesNotMatter() {
    List<ServiceAddress> turned = new ArrayList<>(services(5));
    Collections.reverse(turned);
    for (int i = 0; i < 20; i++) {
      assertEquals(order(i, services(5)), order(i, turned));
    }
  }
}
