package io.pyhudi.hive.metadata;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizer;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzContext;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveOperationType;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HivePrivilegeObject;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HivePrivilegeObject.HivePrivilegeObjectType;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * The privileges that the reader of a metadata view needs beside those on the view, where
 * HiveServer2 authorises statements (SQL standard, Ranger): those of the table that it describes.
 */
public final class ViewGrants {
  private final HiveAuthorizer authorizer;

  private ViewGrants(HiveAuthorizer authorizer) {
    this.authorizer = authorizer;
  }

  /**
   * Returns the property by which a scan's job shows that the storage handler has checked the
   * reader of a view: there is no session where splits are made in a cluster. Its name is in no
   * list of properties that users may set.
   */
  public static String checkedProperty(MetadataView view) {
    return "hudi.metadata.view.checked." + view.location();
  }

  /** Returns those of the current session; none where HiveServer2 authorises no statements. */
  public static Optional<ViewGrants> ofSession() {
    SessionState session = SessionState.get();
    boolean isAuthorising =
        session != null
            && session.isAuthorizationModeV2()
            && session.getConf().getBoolVar(HiveConf.ConfVars.HIVE_AUTHORIZATION_ENABLED);
    return isAuthorising
        ? Optional.of(new ViewGrants(session.getAuthorizerV2()))
        : Optional.empty();
  }

  /**
   * Checks that the user may select all columns and rows of the table that a view describes.
   *
   * @param name that of the view, behind its database, which has to hold the table, too: the name
   *     of the table, two underscores and what is described; or that of the table itself, if the
   *     view is one behind it
   * @throws SecurityException if he may not, or if there is no such table
   */
  public void requireSelect(Configuration conf, MetadataView view, String name) {
    Table described = described(conf, view, name);
    List<String> columns =
        described.getAllCols().stream().map(FieldSchema::getName).collect(Collectors.toList());
    HivePrivilegeObject read =
        new HivePrivilegeObject(
            HivePrivilegeObjectType.TABLE_OR_VIEW,
            described.getDbName(),
            described.getTableName(),
            null,
            columns,
            null);
    check(view, HiveOperationType.QUERY, read);
    try {
      boolean isMasked =
          authorizer.needTransform()
              && !authorizer
                  .applyRowFilterAndColumnMasking(context(), Arrays.asList(read))
                  .isEmpty();
      if (isMasked) {
        throw new SecurityException(
            view
                + ": "
                + described.getFullyQualifiedName()
                + " has row filters or column masks for"
                + " this user, and the view would show what they hide");
      }
    } catch (SemanticException e) {
      throw new SecurityException(view + ": " + e.getMessage(), e);
    }
  }

  /**
   * Checks that the user may make a table of the described table's directory.
   *
   * @param directory where that is, behind symbolic links
   * @throws SecurityException if he may not
   */
  public void requireLocation(MetadataView view, Path directory) {
    HivePrivilegeObject location =
        new HivePrivilegeObject(HivePrivilegeObjectType.DFS_URI, null, directory.toString());
    check(view, HiveOperationType.CREATETABLE, location);
  }

  private void check(MetadataView view, HiveOperationType operation, HivePrivilegeObject object) {
    try {
      authorizer.checkPrivileges(
          operation, Collections.singletonList(object), Collections.emptyList(), context());
    } catch (HiveException e) {
      throw new SecurityException(
          view
              + ": it shows what is in the table, so that takes the rights on the table itself: "
              + e.getMessage());
    }
  }

  private static Table described(Configuration conf, MetadataView view, String name) {
    String suffix = "__" + view.name();
    int dot = name.lastIndexOf('.');
    String database = name.substring(name.lastIndexOf('.', dot - 1) + 1, Math.max(dot, 0));
    int end = name.endsWith(suffix) ? name.length() - suffix.length() : name.length();
    try {
      Table found = Hive.get().getTable(database, name.substring(dot + 1, end), false);
      Path location = found == null ? null : found.getPath();
      if (location != null && isSamePlace(conf, location, view.basePath())) {
        return found;
      }
    } catch (HiveException | IOException e) {
      throw new SecurityException(view + ": " + e.getMessage(), e);
    }
    throw new SecurityException(
        view
            + ": whoever reads it needs SELECT on the table that it describes, and there is none of"
            + " that location to check: register it as TABLE"
            + suffix
            + " beside TABLE");
  }

  private static boolean isSamePlace(Configuration conf, Path one, Path other) throws IOException {
    return one.getFileSystem(conf)
        .makeQualified(one)
        .equals(other.getFileSystem(conf).makeQualified(other));
  }

  private static HiveAuthzContext context() {
    return new HiveAuthzContext.Builder().build();
  }
}
