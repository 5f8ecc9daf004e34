package io.pyhudi.spark.writes;

import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;

/** A catalog's table with more properties. */
final class TableProperties {
  private TableProperties() {}

  static CatalogTable with(CatalogTable table, Map<String, String> options) {
    return table.copy(
        table.identifier(),
        table.tableType(),
        table.storage(),
        table.schema(),
        table.provider(),
        table.partitionColumnNames(),
        table.bucketSpec(),
        table.owner(),
        table.createTime(),
        table.lastAccessTime(),
        table.createVersion(),
        ScalaMaps.with(table.properties(), options),
        table.stats(),
        table.viewText(),
        table.comment(),
        table.unsupportedFeatures(),
        table.tracksPartitionsInCatalog(),
        table.schemaPreservesCase(),
        table.ignoredProperties(),
        table.viewOriginalText());
  }
}
