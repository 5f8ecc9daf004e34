package io.pyhudi.hive.metadata;

import io.pyhudi.hive.HudiMergeOnReadInputFormat;
import io.pyhudi.hive.PruningSettings;
import java.io.IOException;
import org.apache.hadoop.hive.metastore.api.StorageDescriptor;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.parse.SemanticException;

/**
 * The metadata views of a registered table that need no registration: Hive 4 takes the part behind
 * a table's name, {@code db.t.files}, for metadata of the table, and authorises the query as one of
 * {@code db.t}.
 */
public final class ViewBehindTable {
  private ViewBehindTable() {}

  /**
   * Returns what a query reads: the table's registration, with the view's location and columns.
   *
   * @param name the part behind the table's name
   * @throws SemanticException if there is no such view, or no service names its columns
   */
  public static Table of(Table table, String name) throws SemanticException {
    if (MetadataView.of(table.getPath()) != null) {
      throw new SemanticException(
          table.getFullyQualifiedName() + " is a metadata view: there is none behind it");
    }
    Table found = table.makeCopy();
    found.setMetaTable(name);
    StorageDescriptor storage = found.getTTable().getSd();
    storage.setInputFormat(HudiMergeOnReadInputFormat.class.getName());
    try {
      MetadataView view = MetadataView.of(table.getPath(), name);
      storage.setCols(MetadataRequests.columns(view, PruningSettings.ofTable(table.getMetadata())));
      storage.setLocation(view.location().toString());
    } catch (IOException | IllegalArgumentException e) {
      throw new SemanticException(
          table.getFullyQualifiedName() + "." + name + ": " + e.getMessage(), e);
    }
    return found;
  }
}
