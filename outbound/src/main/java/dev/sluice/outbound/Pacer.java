// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.internal.async.Stages;
import dev.sluice.internal.text.LogPace;
import dev.sluice.store.TimeSource;
import dev.sluice.web.RetryAdvice;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Delays outgoing requests to the rate of a limit, and pauses requests if the remote server demands
 * a pause. {@link PacedHttpClient}, {@link PacedOkHttp}, {@link PacedRestClient} and {@link
 * PacedWebClient} use a pacer. You can also write an interceptor for another client that uses a
 * pacer.
 *
 * <p>Each request belongs to an id, by default the host of its URI. The requests of one id wait in
 * order of arrival, each at most for its longest wait. The pacer reads the responses ({@link
 * RetryAdvice}). After a response with {@code Retry-After} or with an exhausted quota, the pacer
 * pauses further requests with the same id as the answered request until the time that the response
 * names, but at most for {@linkplain Builder#longestPause the longest pause}. A request whose turn
 * comes during a pause loses its turn, and waits for another turn after the pause, behind the
 * requests that already wait.
 *
 * <p>At most 10,000 ids are paused at a time. While 10,000 ids are paused, a pause of another id is
 * ignored and logged. At most 100,000 requests wait for the end of pauses; further requests fail at
 * once.
 *
 * <p>Thread-safe; no method blocks.
 */
public final class Pacer {

  private static final Logger LOG = System.getLogger(Pacer.class.getName());
  private static final int MOST_PAUSES = 10_000;
  private static final int MOST_WAITING = 100_000;
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final Duration LONGEST_PAUSE = Duration.ofHours(1);

  private final Limit limit;
  private final Duration maxWait;
  private final Function<URI, String> id;
  private final TimeSource time;
  private final long longestPauseNanos;
  private final Map<String, Long> pausedUntilNanos = new ConcurrentHashMap<>();

  /** The requests of each id that wait for the end of a pause, in order of arrival. */
  private final Map<String, Set<Admission>> waiting = new HashMap<>(); // guarded by itself

  private int waitingCount; // guarded by waiting
  private final AtomicLong nextLookNanos = new AtomicLong();
  private final LogPace failures;
  private final LogPace leftOut;

  private Pacer(Builder builder) {
    this.limit = builder.limit;
    this.maxWait = builder.maxWait;
    this.id = builder.id;
    this.time = builder.time;
    this.longestPauseNanos = builder.longestPause.toNanos();
    this.failures = new LogPace(time::nanos);
    this.leftOut = new LogPace(time::nanos);
  }

  /**
   * Returns a builder.
   *
   * @param limit the limit on requests for each id; the longest wait of this limit must be at least
   *     {@code maxWait}
   * @param maxWait the longest wait of a request; zero to reject every request that would have to
   *     wait
   * @return a builder with default settings
   * @throws IllegalArgumentException if {@code maxWait} is negative
   */
  public static Builder builder(Limit limit, Duration maxWait) {
    if (Objects.requireNonNull(maxWait, "maxWait").isNegative()) {
      throw new IllegalArgumentException("maxWait: found " + maxWait + ", expected zero or more");
    }
    return new Builder(Objects.requireNonNull(limit, "limit"), maxWait);
  }

  /**
   * Delays a request until it can be sent.
   *
   * @param uri the URI of the request
   * @return a future that completes when the request can be sent, and fails at once with a {@link
   *     RefusedRequestException} if the wait would be too long or too many requests wait; cancel
   *     the future to stop waiting
   * @throws IllegalArgumentException if the URI has no host, or if the {@linkplain Builder#id id}
   *     is null; exceptions of the id function are thrown too
   */
  public CompletableFuture<Void> admit(URI uri) {
    return admit(uri, maxWait);
  }

  /**
   * Delays a request until it can be sent, with a longest wait for this request.
   *
   * @param uri the URI of the request
   * @param atMost the longest wait of this request; a wait above {@code maxWait} (see {@link
   *     #builder}) is shortened to {@code maxWait}
   * @return a future that completes like the future of {@link #admit(URI)}
   * @throws IllegalArgumentException in the cases in which {@link #admit(URI)} throws
   */
  public CompletableFuture<Void> admit(URI uri, Duration atMost) {
    Duration wait = atMost.compareTo(maxWait) < 0 ? atMost : maxWait;
    Admission admission = new Admission(idOf(uri), wait.isNegative() ? Duration.ZERO : wait);
    admission.proceed();
    return admission.result;
  }

  private String idOf(URI uri) {
    String found = id.apply(uri);
    if (found == null) {
      throw new IllegalArgumentException(
          "id: found null for a URI of %s, expected an id of the limit".formatted(uri.getHost()));
    }
    return found;
  }

  /**
   * Reads from a response whether to pause requests. Never throws, so that the caller can still use
   * the response. A problem, for example a URI without an id, is logged. At most one problem is
   * logged per ten seconds.
   *
   * @param uri the URI to which the request was sent
   * @param status the status code of the response
   * @param fields returns the values of a header field for its name in lower case; empty if missing
   */
  public void learn(URI uri, int status, Function<String, List<String>> fields) {
    heed(uri, now -> RetryAdvice.pause(status, fields, now));
  }

  /**
   * Pauses requests to an id, for protocols whose responses {@link #learn} cannot read. A shorter
   * pause does not end a longer pause. Like {@link #learn}, this method never throws.
   *
   * @param uri the URI of the request
   * @param pause the length of the pause, at most the {@linkplain Builder#longestPause longest
   *     pause}; zero and negative values do nothing
   */
  public void pause(URI uri, Duration pause) {
    heed(uri, now -> pause);
  }

  private void heed(URI uri, Function<Instant, Duration> asked) {
    try {
      long nowNanos = time.nanos();
      Duration pause = asked.apply(Instant.ofEpochSecond(0, nowNanos));
      if (!pause.isZero() && !pause.isNegative()) {
        pause(idOf(uri), pause, nowNanos);
      }
    } catch (Throwable e) {
      // Even an Error, such as a missing class, must not keep the response from the caller.
      tell(failures, "could not read from a response whether to pause requests", e);
    }
  }

  private void pause(String paused, Duration pause, long nowNanos) {
    boolean isShort = pause.compareTo(Duration.ofNanos(longestPauseNanos)) < 0;
    long untilNanos = nowNanos + (isShort ? pause.toNanos() : longestPauseNanos);
    if (pausedUntilNanos.containsKey(paused) || hasRoom(nowNanos)) {
      pausedUntilNanos.merge(paused, untilNanos, Math::max);
    } else {
      String line =
          "%s ids are paused, which is the maximum; pauses of further ids are ignored"
              .formatted(MOST_PAUSES);
      tell(leftOut, line, null);
    }
  }

  /**
   * Returns whether another id can be paused. First removes the pauses that have ended, but at most
   * once per second, since the removal reads all pauses.
   */
  private boolean hasRoom(long nowNanos) {
    long next = nextLookNanos.get();
    if (pausedUntilNanos.size() >= MOST_PAUSES
        && nowNanos >= next
        && nextLookNanos.compareAndSet(next, nowNanos + LOOK_NANOS)) {
      pausedUntilNanos.values().removeIf(until -> until <= nowNanos);
    }
    return pausedUntilNanos.size() < MOST_PAUSES;
  }

  private static void tell(LogPace pace, String line, @Nullable Throwable failure) {
    try {
      String more = pace.next();
      if (more != null) {
        LOG.log(Level.WARNING, line + more, failure);
      }
    } catch (Throwable e) {
      // The logger itself failed, so this failure cannot be logged.
    }
  }

  /** Lets a request wait for the end of a pause; returns false if too many requests wait. */
  private boolean queue(Admission request, long untilNanos) {
    boolean isFirst;
    synchronized (waiting) {
      if (waitingCount == MOST_WAITING) {
        return false;
      }
      isFirst = !waiting.containsKey(request.id);
      waitingCount++;
      waiting.computeIfAbsent(request.id, id -> new LinkedHashSet<>()).add(request);
    }
    if (isFirst) {
      // One alarm for all requests of the id: several alarms would ring in any order.
      time.alarm(untilNanos, () -> release(request.id));
    }
    return true;
  }

  private void release(String paused) {
    Set<Admission> released;
    synchronized (waiting) {
      released = Objects.requireNonNull(waiting.remove(paused));
      waitingCount -= released.size();
    }
    for (Admission request : released) {
      try {
        request.proceed(); // waits again if the pause has become longer
      } catch (Throwable e) {
        request.fail(e); // the requests behind must not wait for ever
      }
    }
  }

  /** Removes a request that stops waiting; the alarm of its id removes an empty set. */
  private void leave(Admission request) {
    synchronized (waiting) {
      Set<Admission> queue = waiting.get(request.id);
      if (queue != null && queue.remove(request)) {
        waitingCount--;
      }
    }
  }

  /** One request before it is sent. */
  private final class Admission {
    private final String id;
    private final Duration maxWait;
    private final long deadlineNanos;
    private final CompletableFuture<Void> result = new CompletableFuture<>();
    private volatile @Nullable Future<?> turn; // the turn for which the request waits or waited
    private volatile boolean hasPaused; // whether the request has waited for a pause

    Admission(String id, Duration maxWait) {
      this.id = id;
      this.maxWait = maxWait;
      long nowNanos = time.nanos();
      boolean isShort = maxWait.compareTo(Duration.ofNanos(Long.MAX_VALUE - nowNanos)) < 0;
      this.deadlineNanos = isShort ? nowNanos + maxWait.toNanos() : Long.MAX_VALUE;
      Stages.onEnd(
          result,
          (done, failure) -> {
            if (failure != null) {
              giveUp();
            }
          });
    }

    private void giveUp() {
      if (hasPaused) {
        leave(this);
      }
      Future<?> last = turn;
      if (last != null) {
        last.cancel(false);
      }
    }

    /**
     * Waits for the end of a pause of the id, then until the limit admits the request. If another
     * pause begins during a wait, this method also waits for the end of the other pause.
     */
    void proceed() {
      if (result.isDone()) {
        return;
      }
      long nowNanos = time.nanos();
      long untilNanos = pausedUntilNanos.getOrDefault(id, 0L);
      if (untilNanos <= nowNanos) {
        CompletableFuture<Decision> next =
            limit
                .async()
                .acquire(id, Duration.ofNanos(Math.max(deadlineNanos - nowNanos, 0)))
                .toCompletableFuture();
        turn = next;
        Stages.onEnd(next, this::come);
      } else if (untilNanos > deadlineNanos) {
        refuse(Duration.ofNanos(untilNanos - nowNanos));
      } else {
        hasPaused = true;
        if (!queue(this, untilNanos)) {
          fail(
              new RefusedRequestException(
                  "%s requests wait for the end of pauses, which is the maximum"
                      .formatted(MOST_WAITING),
                  Duration.ofNanos(untilNanos - nowNanos)));
        }
      }
      if (result.isDone()) { // the request was cancelled in the meantime
        giveUp();
      }
    }

    private void come(@Nullable Decision decision, @Nullable Throwable failure) {
      if (decision == null) {
        fail(
            failure == null
                ? new IllegalStateException("the limiter returned neither a decision nor a failure")
                : Stages.cause(failure));
      } else if (decision.denied()) {
        refuse(decision.retryIn());
      } else if (pausedUntilNanos.getOrDefault(id, 0L) > time.nanos()) {
        proceed();
      } else {
        end(() -> result.complete(null));
      }
    }

    private void refuse(Duration wait) {
      Duration left = Duration.ofNanos(Math.max(deadlineNanos - time.nanos(), 0));
      fail(
          new RefusedRequestException(
              "a request to %s must wait for %s, but may wait for only %s (longest wait: %s)"
                  .formatted(id, wait, left, maxWait),
              wait));
    }

    private void fail(Throwable failure) {
      end(() -> result.completeExceptionally(failure));
    }

    /**
     * Ends the wait, which runs code of the application. The code can block its thread, so each
     * request that {@link #release} admits or refuses ends on another thread.
     */
    private void end(Runnable end) {
      if (hasPaused) {
        time.alarm(time.nanos(), end);
      } else {
        end.run();
      }
    }
  }

  /** Makes a {@link Pacer}. Not thread-safe. */
  public static final class Builder {
    private static final Pattern PORT = Pattern.compile(":[0-9]*$");

    private final Limit limit;
    private final Duration maxWait;
    private Function<URI, String> id = Builder::host;
    private TimeSource time = TimeSource.system();
    private Duration longestPause = LONGEST_PAUSE;

    private Builder(Limit limit, Duration maxWait) {
      this.limit = limit;
      this.maxWait = maxWait;
    }

    /**
     * Returns the host of a URI, even if the host contains an underscore: for such a host, {@link
     * URI#getHost} returns null.
     */
    private static String host(URI uri) {
      String host = uri.getHost();
      if (host == null && uri.getRawAuthority() != null) {
        String authority = uri.getRawAuthority();
        host = PORT.matcher(authority.substring(authority.lastIndexOf('@') + 1)).replaceFirst("");
      }
      if (host == null || host.isEmpty()) {
        throw new IllegalArgumentException("found the URI " + uri + ", expected a URI with a host");
      }
      return host.toLowerCase(Locale.ROOT);
    }

    /**
     * Sets the id under which a request is counted; by default the host of its URI.
     *
     * @param newId returns an id of the limit for the URI of a request, and for the URI of its
     *     response, which can be another URI after redirects; never null
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder id(Function<URI, String> newId) {
      this.id = Objects.requireNonNull(newId, "newId");
      return this;
    }

    /**
     * Sets the longest pause that a remote server can cause; by default an hour.
     *
     * @param longest the longest pause, from zero (requests are never paused) to 10,000 days
     * @return this
     * @throws IllegalArgumentException if the duration is out of its range
     */
    @CanIgnoreReturnValue
    public Builder longestPause(Duration longest) {
      if (Objects.requireNonNull(longest, "longest").isNegative()
          || longest.compareTo(Duration.ofDays(10_000)) > 0) {
        throw new IllegalArgumentException(
            "longestPause: found " + longest + ", expected 0 to 10000 days");
      }
      this.longestPause = longest;
      return this;
    }

    /**
     * Sets the clock with which pauses are measured; by default {@link TimeSource#system}. In a
     * test, pass the clock that the limit uses.
     *
     * @param newTime the clock, which must be monotonic
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder time(TimeSource newTime) {
      this.time = Objects.requireNonNull(newTime, "newTime");
      return this;
    }

    /**
     * Makes the pacer.
     *
     * @return a pacer without any pause
     * @throws IllegalArgumentException if {@code maxWait} exceeds the limit's longest wait
     */
    public Pacer build() {
      Duration longest = limit.name().longestWait();
      boolean isBounded = longest.compareTo(Duration.ofNanos(Long.MAX_VALUE)) < 0;
      if (isBounded && maxWait.compareTo(longest) > 0) {
        throw new IllegalArgumentException(
            "maxWait: found %s, expected at most the longest wait of %s (%s)"
                .formatted(maxWait, limit.name(), longest));
      }
      return new Pacer(this);
    }
  }
}
