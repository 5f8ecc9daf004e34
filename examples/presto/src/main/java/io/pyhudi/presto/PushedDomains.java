package io.pyhudi.presto;

import com.facebook.presto.common.predicate.Domain;
import com.facebook.presto.common.predicate.Marker;
import com.facebook.presto.common.predicate.Range;
import com.facebook.presto.common.predicate.SortedRangeSet;
import com.facebook.presto.common.type.TimestampType;
import com.facebook.presto.hudi.HudiColumnHandle;
import com.facebook.presto.hudi.HudiTableLayoutHandle;
import com.facebook.presto.hudi.HudiTableType;
import com.facebook.presto.spi.ColumnHandle;
import io.pyhudi.connector.ColumnType;
import io.pyhudi.connector.DomainFilter;
import io.pyhudi.connector.ValueRange;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The domains that Presto pushes down to a table's layout, as a filter for the service. */
final class PushedDomains {
  private PushedDomains() {}

  static DomainFilter filter(HudiTableLayoutHandle layout) {
    DomainFilter filter = new DomainFilter();
    boolean merges = layout.getTable().getTableType() == HudiTableType.MOR;
    Map<ColumnHandle, Domain> domains =
        layout.getTupleDomain().getDomains().orElse(Collections.emptyMap());
    domains.forEach(
        (handle, domain) -> {
          HudiColumnHandle column = (HudiColumnHandle) handle;
          // Log files are merged by Hive's readers, which convert times in ways of their own.
          boolean isShifted = merges && domain.getType() instanceof TimestampType;
          // The values of partition columns are the metastore's; Presto has applied their domains.
          if (column.isRegularColumn() && !domain.isAll() && !isShifted) {
            ValueTypes.of(domain.getType())
                .ifPresent(type -> add(filter, column.getName(), type, domain));
          }
        });
    return filter;
  }

  private static void add(DomainFilter filter, String column, ColumnType type, Domain domain) {
    List<String> path = Collections.singletonList(column);
    if (domain.getValues().isAll()) {
      filter.addNotNull(path, type.name());
    } else if (domain.getValues().isNone()) {
      filter.add(path, type.name(), Collections.emptyList(), domain.isNullAllowed());
    } else if (domain.getValues() instanceof SortedRangeSet) {
      List<ValueRange> ranges = new ArrayList<>();
      for (Range range : domain.getValues().getRanges().getOrderedRanges()) {
        ranges.add(range(range, type));
      }
      filter.add(path, type.name(), ranges, domain.isNullAllowed());
    }
  }

  private static ValueRange range(Range range, ColumnType type) {
    Marker low = range.getLow();
    Marker high = range.getHigh();
    return new ValueRange(
        low.isLowerUnbounded()
            ? Optional.empty()
            : Optional.of(type.low(low.getValue(), low.getBound() == Marker.Bound.EXACTLY)),
        high.isUpperUnbounded()
            ? Optional.empty()
            : Optional.of(type.high(high.getValue(), high.getBound() == Marker.Bound.EXACTLY)));
  }
}
