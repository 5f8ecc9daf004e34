package io.pyhudi.hive.client;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TApplicationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The services of older versions, which do not know announcements. They are tried again later. */
final class UnawareServices {
  private static final Logger LOG = LoggerFactory.getLogger(UnawareServices.class);
  private static final long AGAIN_NANOS = TimeUnit.MINUTES.toNanos(10);

  private final ConcurrentHashMap<ServiceAddress, Long> since = new ConcurrentHashMap<>();

  boolean mayBeTold(ServiceAddress address) {
    Long known = since.get(address);
    return known == null || System.nanoTime() - known > AGAIN_NANOS;
  }

  /**
   * Notices what became of an announcement.
   *
   * @param failure null if it was answered
   */
  void note(ServiceAddress address, Throwable failure) {
    if (failure instanceof TApplicationException
        && ((TApplicationException) failure).getType() == TApplicationException.UNKNOWN_METHOD) {
      since.put(address, System.nanoTime());
      LOG.debug("{} is of an older version, which loads nothing in advance", address);
    } else if (failure == null) {
      since.remove(address);
    } else {
      LOG.debug("{} does not take announcements: {}", address, failure.toString());
    }
  }
}
