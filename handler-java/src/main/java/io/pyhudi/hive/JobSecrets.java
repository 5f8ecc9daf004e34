package io.pyhudi.hive;

import io.pyhudi.hive.client.JobCredentials;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
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
    byte[] secret = credentials.getSecretKey(alias(basePath));
    if (secret == null) {
      return null;
    }
    try {
      return JobCredentials.of(secret);
    } catch (IOException e) {
      LOG.warn("{}: {}", basePath, e.getMessage());
      return null;
    }
  }

  /** Adds what the containers of a job need for questions about a table. */
  void add(String basePath, PruningSettings settings) {
    long expires =
        TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis() + settings.jobTokenMillis());
    try {
      JobCredentials secret = settings.credentials().forJob(basePath, expires);
      if (secret != null) {
        credentials.addSecretKey(alias(basePath), secret.toBytes());
      }
    } catch (IOException e) {
      LOG.warn(
          "{}: the job gets no credentials for the pruning service: {}", basePath, e.toString());
    }
  }

  private static Text alias(String basePath) {
    return new Text(ALIAS + basePath);
  }
}
