package io.pyhudi.truth;

import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRulesProvider;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;

/**
 * Prints this JVM's rules of all its regions, and of the zones that are named: a line
 * of the zone and, for each offset between 1900 and 2200, the second since 1970 from which it is
 * valid, a colon and the offset.
 */
public final class ZoneRules {
  private static final Instant FIRST = Instant.parse("1900-01-02T00:00:00Z");
  private static final Instant LAST = Instant.parse("2199-12-01T00:00:00Z");

  private ZoneRules() {}

  public static void main(String[] named) {
    Set<String> ids = new TreeSet<>(ZoneRulesProvider.getAvailableZoneIds());
    ids.addAll(Arrays.asList(named));
    ids.forEach(id -> System.out.println(line(id, ZoneId.of(id, ZoneId.SHORT_IDS).getRules())));
  }

  private static String line(String id, java.time.zone.ZoneRules rules) {
    StringBuilder line = new StringBuilder(id);
    append(line, FIRST, rules.getOffset(FIRST).getTotalSeconds());
    ZoneOffsetTransition next = rules.nextTransition(FIRST);
    while (next != null && next.getInstant().isBefore(LAST)) {
      append(line, next.getInstant(), next.getOffsetAfter().getTotalSeconds());
      next = rules.nextTransition(next.getInstant());
    }
    return line.toString();
  }

  private static void append(StringBuilder line, Instant start, int offset) {
    line.append(' ').append(start.getEpochSecond()).append(':').append(offset);
  }
}
