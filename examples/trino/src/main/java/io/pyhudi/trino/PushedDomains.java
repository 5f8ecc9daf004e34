package io.pyhudi.trino;

import io.pyhudi.connector.ColumnType;
import io.pyhudi.connector.DomainFilter;
import io.pyhudi.connector.ValueRange;
import io.trino.plugin.hive.HiveColumnHandle;
import io.trino.plugin.hive.HiveColumnProjectionInfo;
import io.trino.plugin.hive.HiveTableHandle;
import io.trino.spi.StandardErrorCode;
import io.trino.spi.TrinoException;
import io.trino.spi.predicate.Domain;
import io.trino.spi.predicate.Range;
import io.trino.spi.predicate.SortedRangeSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The domains that Trino pushes down to a table, as a filter for the service. */
final class PushedDomains {
  private PushedDomains() {}

  static DomainFilter filter(HiveTableHandle table) {
    DomainFilter filter = new DomainFilter();
    table
        .getCompactEffectivePredicate()
        .getDomains()
        .ifPresent(domains -> domains.forEach((column, domain) -> add(filter, column, domain)));
    return filter;
  }

  private static void add(DomainFilter filter, HiveColumnHandle column, Domain domain) {
    if (column.isHidden()) {
      // Hive leaves out files by it; KeptSplits would miss them.
      throw new TrinoException(
          StandardErrorCode.NOT_SUPPORTED, "conditions on " + column.getName());
    }
    Optional<ColumnType> known = ValueTypes.of(domain.getType());
    // The values of partition columns come from the metastore, and Trino has applied their domains.
    if (column.isPartitionKey() || known.isEmpty() || domain.isAll()) {
      return;
    }
    ColumnType type = known.get();
    List<String> path = new ArrayList<>(List.of(column.getBaseColumnName()));
    column
        .getHiveColumnProjectionInfo()
        .map(HiveColumnProjectionInfo::getDereferenceNames)
        .ifPresent(path::addAll);
    if (domain.getValues().isAll()) {
      filter.addNotNull(path, type.name());
    } else if (domain.getValues().isNone()) {
      filter.add(path, type.name(), List.of(), domain.isNullAllowed());
    } else if (domain.getValues() instanceof SortedRangeSet values) {
      List<ValueRange> ranges =
          values.getOrderedRanges().stream().map(range -> range(range, type)).toList();
      filter.add(path, type.name(), ranges, domain.isNullAllowed());
    }
  }

  private static ValueRange range(Range range, ColumnType type) {
    return new ValueRange(
        range.getLowValue().map(low -> type.low(low, range.isLowInclusive())),
        range.getHighValue().map(high -> type.high(high, range.isHighInclusive())));
  }
}
