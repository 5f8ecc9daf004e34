package io.pyhudi.hive.table;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.ResolverStyle;
import java.util.regex.Pattern;
import org.apache.hadoop.hive.common.type.TimestampTZUtil;
import org.apache.hudi.common.model.HoodieTimelineTimeZone;

/** Converts what a query writes as a time to an instant of the table's timeline. */
final class QueryInstant {
  /** Seconds or milliseconds. */
  private static final Pattern DIGITS = Pattern.compile("\\d{14}(\\d{3})?");

  private static final Pattern BOUND = Pattern.compile("\\d{1,17}");
  private static final int SECONDS = 14;
  private static final DateTimeFormatter OF_DIGITS = formatter("uuuuMMddHHmmss");
  private static final DateTimeFormatter OF_TIMELINE = formatter("uuuuMMddHHmmssSSS");

  private final HudiTable table;
  private final String timelineZone;
  private final ZoneId session;

  /**
   * @param timelineZone the zone of the timeline's clock if the table does not name it; empty for
   *     that of this JVM
   * @param session the zone of times that do not name one
   */
  QueryInstant(HudiTable table, String timelineZone, ZoneId session) {
    this.table = table;
    this.timelineZone = timelineZone;
    this.session = session;
  }

  private static DateTimeFormatter formatter(String pattern) {
    return DateTimeFormatter.ofPattern(pattern).withResolverStyle(ResolverStyle.STRICT);
  }

  /**
   * @param text digits as in the timeline, or a date or time as Hive writes them
   * @throws StateException if the text is neither
   */
  String of(String text) {
    try {
      if (DIGITS.matcher(text).matches()) {
        LocalDateTime.parse(text.substring(0, SECONDS), OF_DIGITS);
        return text;
      }
      Instant time = TimestampTZUtil.parse(text, session).getZonedDateTime().toInstant();
      return OF_TIMELINE.format(time.atZone(zone()));
    } catch (DateTimeException e) {
      throw new StateException(
          table.basePath(),
          "cannot be read as of '"
              + text
              + "', which is neither an instant of its timeline, such as 20260131100000000, nor a"
              + " time, such as 2026-01-31 10:00:00",
          e);
    }
  }

  /** Returns a bound of a range; it may be fewer digits, such as 000 for before all instants. */
  String bound(String text) {
    return BOUND.matcher(text).matches() ? text : of(text);
  }

  private ZoneId zone() {
    if (table.metaClient().getTableConfig().getTimelineTimezone() == HoodieTimelineTimeZone.UTC) {
      return ZoneOffset.UTC;
    }
    try {
      return timelineZone.isEmpty() ? ZoneId.systemDefault() : ZoneId.of(timelineZone);
    } catch (DateTimeException e) {
      throw new StateException(
          table.basePath(), "hudi.timeline.zone is '" + timelineZone + "', not a time zone", e);
    }
  }
}
