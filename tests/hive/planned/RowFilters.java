import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.security.HiveAuthenticationProvider;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizationValidator;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizer;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizerFactory;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizerImpl;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzContext;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzPluginException;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzSessionContext;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveMetastoreClientFactory;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveOperationType;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HivePrivilegeObject;
import org.apache.hadoop.hive.ql.security.authorization.plugin.sqlstd.SQLStdHiveAccessControllerWrapper;

/**
 * Everybody may do everything, but the user {@code reader} sees rows by the settings {@code
 * row.filter.TABLE}, and columns by {@code column.mask.TABLE.COLUMN}: both are expressions.
 */
public final class RowFilters implements HiveAuthorizerFactory {
  @Override
  public HiveAuthorizer createHiveAuthorizer(
      HiveMetastoreClientFactory metastore,
      HiveConf conf,
      HiveAuthenticationProvider user,
      HiveAuthzSessionContext session)
      throws HiveAuthzPluginException {
    boolean isLimited = "reader".equals(user.getUserName());
    return new HiveAuthorizerImpl(
        new SQLStdHiveAccessControllerWrapper(metastore, conf, user, session),
        new Policy(conf, isLimited)) {
      @Override
      public void applyAuthorizationConfigPolicy(HiveConf ignored) {
        // Sessions may set what they like.
      }
    };
  }

  private static final class Policy implements HiveAuthorizationValidator {
    private final HiveConf conf;
    private final boolean isLimited;

    Policy(HiveConf conf, boolean isLimited) {
      this.conf = conf;
      this.isLimited = isLimited;
    }

    @Override
    public void checkPrivileges(
        HiveOperationType operation,
        List<HivePrivilegeObject> inputs,
        List<HivePrivilegeObject> outputs,
        HiveAuthzContext context) {
      // Everything is allowed.
    }

    @Override
    public List<HivePrivilegeObject> filterListCmdObjects(
        List<HivePrivilegeObject> objects, HiveAuthzContext context) {
      return objects;
    }

    @Override
    public boolean needTransform() {
      return isLimited;
    }

    @Override
    public List<HivePrivilegeObject> applyRowFilterAndColumnMasking(
        HiveAuthzContext context, List<HivePrivilegeObject> objects) {
      List<HivePrivilegeObject> changed = new ArrayList<>();
      for (HivePrivilegeObject object : objects) {
        String table = object.getObjectName();
        String filter = conf.get("row.filter." + table);
        List<String> columns = new ArrayList<>();
        boolean isMasked = false;
        for (String column : object.getColumns()) {
          String mask = conf.get("column.mask." + table + "." + column);
          columns.add(mask == null ? column : mask);
          isMasked |= mask != null;
        }
        if (filter != null || isMasked) {
          object.setRowFilterExpression(filter);
          object.setCellValueTransformers(columns);
          changed.add(object);
        }
      }
      return changed;
    }
  }
}
