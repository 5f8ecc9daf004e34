package io.pyhudi.hive;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import io.pyhudi.hive.client.ServiceProbe;
import io.pyhudi.hive.protocol.pruningConstants;
import java.security.CodeSource;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import org.apache.hadoop.hive.metastore.api.hive_metastoreConstants;
import org.apache.hadoop.hive.ql.exec.MapredContext;
import org.apache.hadoop.hive.ql.exec.UDFArgumentException;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.udf.UDFType;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorConverters;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorConverters.Converter;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorFactory;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.table.HoodieTableMetaClient;

/**
 * Reports the handler's version, settings and services in this JVM as one JSON text, for {@code
 * pyhudi hive doctor}:
 *
 * <pre>
 * CREATE TEMPORARY FUNCTION hudi_diagnosis AS 'io.pyhudi.hive.HudiDiagnosis';
 * SELECT hudi_diagnosis('hudi.view=snapshot');
 * </pre>
 *
 * The arguments are table properties, which are applied to the settings. In a task of a job that
 * scans a table, it reports what that task has: its host's reach, the job's credentials for the
 * table ({@code location}), and the result of the scan if the task knows it.
 */
@UDFType(deterministic = false)
public final class HudiDiagnosis extends GenericUDF {
  private static final int MAX_TIMEOUT_MILLIS = 10_000;
  private static final int START_MILLIS = 30_000;

  private transient Converter[] properties;
  private transient JobConf job;

  /** Called in a task of a job; in HiveServer2 itself there is none. */
  @Override
  public void configure(MapredContext context) {
    job = context.getJobConf();
  }

  @Override
  public ObjectInspector initialize(ObjectInspector[] arguments) throws UDFArgumentException {
    properties = new Converter[arguments.length];
    for (int i = 0; i < arguments.length; i++) {
      properties[i] =
          ObjectInspectorConverters.getConverter(
              arguments[i], PrimitiveObjectInspectorFactory.javaStringObjectInspector);
    }
    return PrimitiveObjectInspectorFactory.javaStringObjectInspector;
  }

  @Override
  public Object evaluate(DeferredObject[] arguments) throws HiveException {
    Properties table = new Properties();
    for (int i = 0; i < arguments.length; i++) {
      String property = String.valueOf(properties[i].convert(arguments[i].get()));
      int equals = property.indexOf('=');
      if (equals > 0) {
        table.setProperty(property.substring(0, equals), property.substring(equals + 1));
      }
    }
    try {
      return new ObjectMapper().writeValueAsString(findings(settings(table), pathOf(table)));
    } catch (JsonProcessingException e) {
      throw new HiveException(e);
    }
  }

  /** Returns the settings as a scan of the table applies them here: in a job, those it brought. */
  private PruningSettings settings(Properties table) {
    if (job == null) {
      return PruningSettings.ofTable(table);
    }
    JobConf ofTable = new JobConf(job);
    table.stringPropertyNames().forEach(name -> ofTable.set(name, table.getProperty(name)));
    return PruningSettings.ofJob(ofTable);
  }

  private static String pathOf(Properties table) {
    return table.getProperty(hive_metastoreConstants.META_TABLE_LOCATION, "");
  }

  private static Map<String, Object> findings(PruningSettings settings, String basePath) {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("version", HudiStorageHandler.class.getPackage().getImplementationVersion());
    found.put("protocol", pruningConstants.PROTOCOL_VERSION);
    found.put("jar", placeOf(HudiStorageHandler.class));
    found.put("hudiJar", placeOf(HoodieTableMetaClient.class));
    found.put("missing", missing());
    found.put("java", System.getProperty("java.version"));
    found.put("zone", ZoneId.systemDefault().getId());
    found.put("settings", settings.asMap());
    found.put("container", System.getenv(OwnHost.CONTAINER));
    found.put("scan", LastScan.text());
    found.put("services", services(settings, basePath));
    return found;
  }

  private static List<Object> services(PruningSettings settings, String basePath) {
    int timeout = (int) Math.min(MAX_TIMEOUT_MILLIS, Math.max(1, settings.timeoutMillis()));
    if (settings.hasOwnService()) {
      return Collections.singletonList(ownService(settings, basePath, timeout));
    }
    Credentials credentials = settings.credentials(basePath);
    List<Object> services = new ArrayList<>();
    for (ServiceAddress address : settings.addresses()) {
      try {
        OwnHost.here().others(Collections.singletonList(address));
        services.add(ServiceProbe.probe(address, credentials, timeout));
      } catch (PruningException e) {
        services.add(refused(address.toString(), e));
      }
    }
    return services;
  }

  private static Map<String, Object> ownService(
      PruningSettings settings, String basePath, int timeout) {
    Map<String, Object> found;
    try {
      Services own = Services.of(settings, basePath, START_MILLIS);
      found =
          new LinkedHashMap<>(
              ServiceProbe.probe(own.addresses().get(0), own.credentials(), timeout));
    } catch (PruningException e) {
      found = refused("HiveServer2's own service", e);
    }
    found.put("own", true);
    return found;
  }

  private static Map<String, Object> refused(String address, PruningException reason) {
    Map<String, Object> refused = new LinkedHashMap<>();
    refused.put("address", address);
    refused.put("problem", reason.getMessage());
    return refused;
  }

  /** Returns the class of another jar that Hudi's classes lack in this JVM, or null. */
  private static String missing() {
    try {
      Objects.requireNonNull(HoodieRecord.class);
      return null;
    } catch (LinkageError e) {
      return e.getMessage();
    }
  }

  private static String placeOf(Class<?> type) {
    CodeSource source = type.getProtectionDomain().getCodeSource();
    return source == null ? null : String.valueOf(source.getLocation());
  }

  @Override
  public String getDisplayString(String[] children) {
    return "hudi_diagnosis()";
  }
}
