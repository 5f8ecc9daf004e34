package io.pyhudi.hive.table;

import io.pyhudi.hive.protocol.KeptSlices;
import io.pyhudi.hive.protocol.TableView;
import java.util.List;
import java.util.Optional;

/** The slices that the pruning service lists, in the form in which Hudi's index would list them. */
public final class ServiceListing {
  private ServiceListing() {}

  /**
   * Returns whether a list of the service can stand for Hudi's, see {@link ListedSlices}. Hudi
   * lists earlier states itself, as only it knows how it would.
   */
  public static boolean isPossible(HudiTable table) {
    return table.stateText() == null && ListedSlices.arePossible(table.metaClient());
  }

  /**
   * Returns the slices that a query has to read. The result is empty, and the reason is logged, if
   * the service saw another state of the table, or if its list contradicts itself.
   *
   * @param view the view that the service was asked for
   */
  public static Optional<List<Slice>> slices(HudiTable table, KeptSlices kept, TableView view) {
    return ListedSlices.of(table.metaClient(), kept)
        .map(listed -> TableListing.toSlices(listed, view));
  }
}
