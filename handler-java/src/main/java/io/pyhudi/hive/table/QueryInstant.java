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

/** Converts what a query writes as the time of a state to an instant of the table's timeline. */
final class QueryInstant {
  /** Seconds or milliseconds. */
  private static final Pattern DIGITS = Pattern.compile("\\d{14}(\\d{3})?");

  private static final int SECONDS = 14;
  private static final DateTimeFormatter OF_DIGITS = formatter("uuuuMMddHHmmss");
  private static final DateTimeFormatter OF_TIMELINE = formatter("uuuuMMddHHmmssSSS");

  private QueryInstant() {}

  private static DateTimeFormatter formatter(String pattern) {
    return DateTimeFormatter.ofPattern(pattern).withResolverStyle(ResolverStyle.STRICT);
  }

  /**
   * @param text digits as in the timeline, or a date or time as Hive writes them
   * @param timelineZone the zone of the timeline's clock if the table does not name it; empty for
   *     that of this JVM
   * @param session the zone of times that do not name one
   * @throws StateException if the text is neither
   */
  static String of(HudiTable table, String text, String timelineZone, ZoneId session) {
    try {
      if (DIGITS.matcher(text).matches()) {
        LocalDateTime.parse(text.substring(0, SECONDS), OF_DIGITS);
        return text;
      }
      Instant time = TimestampTZUtil.parse(text, session).getZonedDateTime().toInstant();
      return OF_TIMELINE.format(time.atZone(zone(table, timelineZone)));
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

  private static ZoneId zone(HudiTable table, String timelineZone) {
    if (table.metaClient().getTableConfig().getTimelineTimezone() == HoodieTimelineTimeZone.UTC) {
      return ZoneOffset.UTC;
    }
    return timelineZone.isEmpty() ? ZoneId.systemDefault() : ZoneId.of(timelineZone);
  }
}
