package org.apache.hudi.aws.transaction.lock;

import java.io.ByteArrayInputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * The requests to S3 of Hudi's StorageBasedLockProvider, for tests.
 *
 * <p>The provider finds this class by its name. Hudi's own one is in hudi-aws, which is not in its
 * bundle.
 */
public final class S3StorageLockClient implements StorageLockClient {
  private static final int NOT_FOUND = 404;
  private static final int PRECONDITION_FAILED = 412;

  private final S3Client client;
  private final String bucket;
  private final String key;

  public S3StorageLockClient(String owner, String file, Properties settings) {
    Pair<String, String> place = StorageLockClient.parseBucketAndPath(file);
    bucket = place.getLeft();
    key = place.getRight();
    client =
        S3Client.builder()
            .endpointOverride(URI.create(System.getenv("AWS_ENDPOINT_URL")))
            .forcePathStyle(true)
            .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
            .build();
  }

  @Override
  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    try {
      ResponseBytes<GetObjectResponse> found = read(key);
      String version = found.response().eTag();
      return Pair.of(
          LockGetResult.SUCCESS,
          Option.of(
              StorageLockFile.createFromStream(
                  new ByteArrayInputStream(found.asByteArray()), version)));
    } catch (S3Exception error) {
      boolean isMissing = error.statusCode() == NOT_FOUND;
      return Pair.of(
          isMissing ? LockGetResult.NOT_EXISTS : LockGetResult.UNKNOWN_ERROR, Option.empty());
    }
  }

  @Override
  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData data, Option<StorageLockFile> previous) {
    PutObjectRequest.Builder request = PutObjectRequest.builder().bucket(bucket).key(key);
    if (previous.isPresent()) {
      request.ifMatch(previous.get().getVersionId());
    } else {
      request.ifNoneMatch("*");
    }
    try {
      byte[] content = StorageLockFile.toByteArray(data);
      String version = client.putObject(request.build(), RequestBody.fromBytes(content)).eTag();
      return Pair.of(LockUpsertResult.SUCCESS, Option.of(new StorageLockFile(data, version)));
    } catch (S3Exception error) {
      boolean isTaken = error.statusCode() == PRECONDITION_FAILED;
      return Pair.of(
          isTaken ? LockUpsertResult.ACQUIRED_BY_OTHERS : LockUpsertResult.UNKNOWN_ERROR,
          Option.empty());
    }
  }

  @Override
  public Option<String> readObject(String file, boolean checkExistsFirst) {
    try {
      String path = StorageLockClient.parseBucketAndPath(file).getRight();
      return Option.of(new String(read(path).asByteArray(), StandardCharsets.UTF_8));
    } catch (S3Exception error) {
      return Option.empty();
    }
  }

  @Override
  public boolean writeObject(String file, String content) {
    throw new UnsupportedOperationException("no test enables Hudi's audit");
  }

  @Override
  public void close() {
    client.close();
  }

  private ResponseBytes<GetObjectResponse> read(String path) {
    return client.getObjectAsBytes(request -> request.bucket(bucket).key(path));
  }
}
