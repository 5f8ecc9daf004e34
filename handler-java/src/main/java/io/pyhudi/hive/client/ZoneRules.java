package io.pyhudi.hive.client;

import io.pyhudi.hive.protocol.Zone;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Time zones by the rules of this JVM, as the protocol has them. */
public final class ZoneRules {
  /** Of 1900-01-01 and 2200-01-01, in seconds since 1970: rules are sent for the time between. */
  private static final long FIRST = -25_567L * 86_400;

  private static final long LAST = 84_006L * 86_400;

  /** No process sees so many zones, unless somebody makes them up. */
  private static final int MOST = 1_000;

  private static final Map<ZoneId, byte[]> KNOWN = new ConcurrentHashMap<>();

  private ZoneRules() {}

  /**
   * Returns a zone.
   *
   * @param name the name that expressions have for it
   */
  public static Zone of(String name, ZoneId id) {
    return new Zone(name).setRules(rules(id));
  }

  /** Returns whether clocks of two zones always show the same. */
  public static boolean areSame(ZoneId one, ZoneId other) {
    return one.getRules().equals(other.getRules());
  }

  private static byte[] rules(ZoneId id) {
    if (KNOWN.size() > MOST) {
      KNOWN.clear();
    }
    return KNOWN.computeIfAbsent(id, ZoneRules::transitions);
  }

  private static byte[] transitions(ZoneId id) {
    java.time.zone.ZoneRules rules = id.getRules();
    List<ZoneOffsetTransition> changes = new ArrayList<>();
    Instant first = Instant.ofEpochSecond(FIRST);
    ZoneOffsetTransition change = rules.nextTransition(first);
    while (change != null && change.toEpochSecond() < LAST) {
      changes.add(change);
      change = rules.nextTransition(change.getInstant());
    }
    ByteBuffer bytes =
        ByteBuffer.allocate(changes.size() * (Long.BYTES + Integer.BYTES) + Integer.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    changes.forEach(each -> bytes.putLong(each.toEpochSecond()));
    bytes.putInt(rules.getOffset(first).getTotalSeconds());
    changes.forEach(each -> bytes.putInt(each.getOffsetAfter().getTotalSeconds()));
    return bytes.array();
  }
}
