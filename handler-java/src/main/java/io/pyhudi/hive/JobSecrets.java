package io.pyhudi.hive;

import io.pyhudi.hive.client.JobCredentials;
import java.io.IOException;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.security.Credentials;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The secrets among a job's credentials by which its containers ask services. Hadoop carries them
 * as it does its delegation tokens, apart from the configuration, which it shows to everyone who
 * may see the job.
 */
final class JobSecrets {
  private static final Logger LOG = LoggerFactory.getLogger(JobSecrets.class);
  private static final String ALIAS = "hudi.pruning#";
  private static final String BY_HIVE = "TABLE_SECRET#";

  private final Credentials credentials;

  private JobSecrets(Credentials credentials) {
    this.credentials = credentials;
  }

  static JobSecrets none() {
    return new JobSecrets(new Credentials());
  }

  static JobSecrets of(Configuration job) {
    return job instanceof JobConf ? new JobSecrets(((JobConf) job).getCredentials()) : none();
  }

  /** Returns what the job has brought for questions about a table, or null. */
  JobCredentials ofTable(String basePath) {
    try {
      byte[] secret = credentials.getSecretKey(alias(basePath));
      if (secret != null) {
        return JobCredentials.of(secret);
      }
      byte[] byHive = addedByHive(ALIAS + basePath);
      return byHive == null ? null : JobCredentials.of(Base64.getDecoder().decode(byHive));
    } catch (IOException | IllegalArgumentException e) {
      LOG.warn("{}: {}", basePath, e.getMessage());
      return null;
    }
  }

  /** Returns a secret of a scan's table: Hive puts the table's name before its name. */
  private byte[] addedByHive(String name) {
    for (Text alias : credentials.getAllSecretKeys()) {
      String text = alias.toString();
      if (text.startsWith(BY_HIVE) && text.endsWith("#" + name)) {
        return credentials.getSecretKey(alias);
      }
    }
    return null;
  }

  /** Adds what the containers of a job need for questions about a table. */
  void add(String basePath, PruningSettings settings) {
    byte[] secret = secret(basePath, settings);
    if (secret != null) {
      credentials.addSecretKey(alias(basePath), secret);
    }
  }

  /**
   * Gives a scan's table the same, as texts: Hive adds them to the credentials of the scan's job,
   * and forgets them before it writes the plan.
   */
  static void addTo(TableDesc table, String basePath, PruningSettings settings) {
    byte[] secret = secret(basePath, settings);
    if (secret != null) {
      Map<String, String> secrets = new LinkedHashMap<>();
      if (table.getJobSecrets() != null) {
        secrets.putAll(table.getJobSecrets());
      }
      secrets.put(ALIAS + basePath, Base64.getEncoder().encodeToString(secret));
      table.setJobSecrets(secrets);
    }
  }

  /** Returns what a job needs, or null if it needs nothing or HiveServer2 cannot read it. */
  private static byte[] secret(String basePath, PruningSettings settings) {
    long expires =
        TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis() + settings.jobTokenMillis());
    try {
      JobCredentials secret = settings.credentials().forJob(basePath, expires);
      return secret == null ? null : secret.toBytes();
    } catch (IOException e) {
      LOG.warn(
          "{}: the job gets no credentials for the pruning service: {}", basePath, e.toString());
      return null;
    }
  }

  private static Text alias(String basePath) {
    return new Text(ALIAS + basePath);
  }
}
