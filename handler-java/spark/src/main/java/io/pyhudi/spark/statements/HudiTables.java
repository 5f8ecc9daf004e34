package io.pyhudi.spark.statements;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import scala.Option;

/** Tells Hudi's tables from those of other formats and catalogs, by their names. */
final class HudiTables {
  private static final String SESSION_CATALOG = "spark_catalog";
  private static final String PROPERTIES = ".hoodie/hoodie.properties";

  private HudiTables() {}

  /** Returns whether a name, in one to three parts, is that of a Hudi table of the session. */
  static boolean isHudi(SparkSession session, List<String> parts) {
    CatalogManager catalogs = session.sessionState().catalogManager();
    String first = parts.get(0);
    if (parts.size() == 1) {
      return catalogs.currentCatalog().name().equals(SESSION_CATALOG)
          && isHudi(session, new TableIdentifier(first));
    }
    boolean isQualified = parts.size() == 3 && first.equalsIgnoreCase(SESSION_CATALOG);
    if (!isQualified && (parts.size() != 2 || catalogs.isCatalogRegistered(first))) {
      return false;
    }
    int database = parts.size() - 2;
    return isHudi(
        session, new TableIdentifier(parts.get(database + 1), Option.apply(parts.get(database))));
  }

  private static boolean isHudi(SparkSession session, TableIdentifier name) {
    try {
      CatalogTable table = session.sessionState().catalog().getTableMetadata(name);
      if (table.provider().exists(provider -> provider.equalsIgnoreCase("hudi"))) {
        return true;
      }
      Path file = new Path(new Path(table.location()), PROPERTIES);
      return file.getFileSystem(session.sessionState().newHadoopConf()).exists(file);
    } catch (Exception unknown) { // there is no such table, or it has no location: not ours
      return false;
    }
  }
}
