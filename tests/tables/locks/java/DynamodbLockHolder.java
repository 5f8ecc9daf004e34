import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/**
 * Takes a lock by AWS's lock client, with the options of Hudi's DynamoDBBasedLockProvider.
 *
 * <p>Arguments: the server's URL, the table, and the lease in milliseconds. Each line of the input
 * is a command: {@code key KEY} chooses a lock; {@code lock MILLISECONDS}; {@code unlock}; {@code
 * race ROUNDS FILE} takes the lock so often, and then creates a file that must not exist. The answer
 * is {@code true}, {@code false}, or {@code failed} and why.
 */
public final class DynamodbLockHolder {
  private final AmazonDynamoDBLockClient client;
  private String key;
  private LockItem lock;

  private DynamodbLockHolder(AmazonDynamoDBLockClient client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws Exception {
    DynamoDbClient dynamodb =
        DynamoDbClient.builder()
            .endpointOverride(URI.create(arguments[0]))
            .httpClient(UrlConnectionHttpClient.create())
            .build();
    long lease = Long.parseLong(arguments[2]);
    AmazonDynamoDBLockClient client =
        new AmazonDynamoDBLockClient(
            AmazonDynamoDBLockClientOptions.builder(dynamodb, arguments[1])
                .withTimeUnit(TimeUnit.MILLISECONDS)
                .withLeaseDuration(lease)
                .withHeartbeatPeriod(lease / 3)
                .withCreateHeartbeatBackgroundThread(true)
                .build());
    DynamodbLockHolder holder = new DynamodbLockHolder(client);
    System.out.println("ready");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(holder.answer(line.split(" ")).replace('\n', ' '));
    }
    System.exit(0);
  }

  private String answer(String[] command) {
    try {
      switch (command[0]) {
        case "key":
          key = command[1];
          return "true";
        case "lock":
          return String.valueOf(isTaken(Long.parseLong(command[1])));
        case "unlock":
          return String.valueOf(client.releaseLock(lock));
        default:
          race(Integer.parseInt(command[1]), Path.of(command[2]));
          return "true";
      }
    } catch (Exception error) {
      return "failed " + error;
    }
  }

  private boolean isTaken(long milliseconds) throws InterruptedException {
    try {
      lock =
          client.acquireLock(
              AcquireLockOptions.builder(key)
                  .withAdditionalTimeToWaitForLock(milliseconds)
                  .withTimeUnit(TimeUnit.MILLISECONDS)
                  .build());
      return !lock.isExpired();
    } catch (LockNotGrantedException error) {
      return false;
    }
  }

  private void race(int rounds, Path marker) throws Exception {
    for (int i = 0; i < rounds; i++) {
      if (!isTaken(60_000)) {
        throw new IllegalStateException("the lock was not taken");
      }
      Files.createFile(marker);
      Thread.sleep(5);
      Files.delete(marker);
      client.releaseLock(lock);
    }
  }
}
