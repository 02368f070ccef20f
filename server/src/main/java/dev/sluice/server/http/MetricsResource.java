// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.logging.RequestLog;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.net.Requests;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.Deflater;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;

/*
 * For 10,000 limits in use, the text of the metrics has 6 MB, a large part of a small heap. The
 * compressed text is 14 times smaller. So a scrape is compressed, and is sent in pieces: the server
 * sends a piece when the client has read the previous piece. For a client that does not accept
 * gzip, the server expands each piece before it is sent. The memory for one client is charged to
 * the budget before the first byte is sent, so a client gets the complete text or a 503.
 *
 * All clients of a scrape share its compressed text, which stays in memory until the last client
 * has read it. So slow clients could keep many scrapes in memory. While unread scrapes take too
 * much memory, new clients get the newest scrape, and no new scrape begins.
 */

/** Answers {@code GET /metrics} in the text format of Prometheus. */
final class MetricsResource extends MethodService {

  private static final MediaType TEXT = MediaType.parse("text/plain; version=0.0.4; charset=utf-8");
  private static final Pattern OF_A_LIMIT = Pattern.compile("[{,]limit=\"([^\"]*)\"");
  private static final Pattern GZIP =
      Pattern.compile("(?i)(^|,)\\s*gzip\\s*(;\\s*q=(?!0(\\.0*)?\\s*(,|$))[^,]*)?(,|$)");
  private static final int PIECE_BYTES = 16 << 10;

  /** The bytes of memory to expand a compressed text, including one expanded piece. */
  private static final int EXPANSION_BYTES = 64 << 10;

  /** Scrapes that clients have not read may take the heap divided by this number. */
  private static final int HEAP_PER_UNREAD = 32;

  private final PrometheusMeterRegistry registry;
  private final long mostUnread;
  private final AtomicLong unread = new AtomicLong();
  private final AtomicReference<@Nullable Scrape> newest = new AtomicReference<>();
  private final AtomicReference<@Nullable CompletableFuture<Scrape>> next = new AtomicReference<>();

  /**
   * The compressed texts of one scrape. Callers that may use the same limits share one text of the
   * metrics. With one metrics text per caller, all copies would be in memory before the budget
   * counts the copies. Thread-safe.
   */
  final class Scrape {

    private final byte[] all;
    private final AtomicInteger readers = new AtomicInteger();
    private final ConcurrentHashMap<Object, byte[]> answers = new ConcurrentHashMap<>();

    private Scrape(byte[] all) {
      this.all = all;
    }

    byte[] answer(Caller caller) {
      return caller.mayUseAll()
          ? all
          : answers.computeIfAbsent(caller.usableLimits(), limits -> within(caller, all));
    }

    void readBy(HttpResponse response) {
      if (readers.getAndIncrement() == 0) {
        unread.addAndGet(all.length);
      }
      Stages.onEnd(response.whenComplete(), (done, failure) -> readByOneLess());
    }

    private void readByOneLess() {
      if (readers.decrementAndGet() == 0) {
        unread.addAndGet(-all.length);
        newest.compareAndSet(this, null);
      }
    }
  }

  private interface Text {
    void write(OutputStream out) throws IOException;
  }

  MetricsResource(PrometheusMeterRegistry registry) {
    this(registry, Runtime.getRuntime().maxMemory() / HEAP_PER_UNREAD);
  }

  MetricsResource(PrometheusMeterRegistry registry, long mostUnread) {
    super(HttpMethod.GET);
    this.registry = registry;
    this.mostUnread = mostUnread;
  }

  @Override
  HttpResponse respond(ServiceRequestContext context, HttpRequest request) {
    context.clearRequestTimeout(); // otherwise Armeria's time-out would cut the text off
    try {
      Caller caller = AccessPart.caller(context);
      return HttpResponse.of(
          nextScrape(context.blockingTaskExecutor())
              .thenApply(scrape -> sent(context, request, scrape, scrape.answer(caller)))
              .exceptionally(failure -> HttpFailures.answer(context, failure).toHttpResponse()));
    } catch (RuntimeException e) {
      return HttpFailures.answer(context, e).toHttpResponse();
    }
  }

  private static HttpResponse sent(
      ServiceRequestContext context, HttpRequest request, Scrape scrape, byte[] compressed) {
    boolean takesGzip = takesGzip(request.headers());
    HttpResponseWriter response = HttpResponse.streaming();
    scrape.readBy(response);
    context
        .eventLoop()
        .execute(
            () -> {
              if (Requests.heldAnswers(context).hold(takesGzip ? PIECE_BYTES : EXPANSION_BYTES)) {
                new Pieces(response, context.eventLoop(), compressed, takesGzip)
                    .begin(request.method() == HttpMethod.HEAD);
              } else {
                AggregatedHttpResponse refused =
                    HttpFailures.answer(
                        RefusedException.overloaded(
                            "no memory for the metrics; try again in a second"));
                var unused =
                    response.tryWrite(refused.headers()) && response.tryWrite(refused.content());
                response.close();
              }
            });
    return response;
  }

  /** Whether the client's {@code Accept-Encoding} allows gzip. */
  static boolean takesGzip(RequestHeaders headers) {
    return GZIP.matcher(headers.get(HttpHeaderNames.ACCEPT_ENCODING, "")).find();
  }

  /** Sends a text to a client in pieces. Only one event loop may use this object. */
  private static final class Pieces {

    private final HttpResponseWriter response;
    private final Executor loop;
    private final byte[] compressed;
    private @Nullable InputStream text; // opened when the client reads
    private final boolean asItIs;

    Pieces(HttpResponseWriter response, Executor loop, byte[] compressed, boolean asItIs) {
      this.response = response;
      this.loop = loop;
      this.compressed = compressed;
      this.asItIs = asItIs;
    }

    void begin(boolean headersAlone) {
      var unused = response.tryWrite(Answers.metrics(TEXT, asItIs));
      if (headersAlone) {
        response.close();
      } else {
        sendNext();
      }
    }

    /** Sends the next piece of the metrics, once the client has read the previous piece. */
    private void sendNext() {
      Stages.onEnd(
          response.whenConsumed(),
          (read, failure) -> loop.execute(failure == null ? this::send : this::close));
    }

    private void send() {
      try {
        if (text == null) {
          InputStream bytes = new ByteArrayInputStream(compressed);
          text = asItIs ? bytes : new GZIPInputStream(bytes, PIECE_BYTES);
        }
        byte[] piece = text.readNBytes(PIECE_BYTES);
        if (piece.length > 0) {
          var unused = response.tryWrite(HttpData.wrap(piece));
          sendNext();
        } else {
          response.close();
          close();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e); // cannot happen: the target is in memory
      }
    }

    private void close() {
      try {
        if (text != null) {
          text.close();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Returns the next scrape, which waiting requests share; the newest if too many are unread. */
  CompletionStage<Scrape> nextScrape(Executor threads) {
    Scrape unreadOne = newest.get();
    if (unreadOne != null && unread.get() > mostUnread) {
      return CompletableFuture.completedFuture(unreadOne);
    }
    CompletableFuture<Scrape> mine = new CompletableFuture<>();
    CompletableFuture<Scrape> waiting =
        next.accumulateAndGet(mine, (known, made) -> known == null ? made : known);
    if (waiting == mine) {
      try {
        threads.execute(() -> scrape(mine));
      } catch (RuntimeException | Error e) { // no thread is free, or the server stops
        next.set(null); // otherwise later requests would wait for a scrape that never begins
        mine.completeExceptionally(e);
      }
    }
    return waiting;
  }

  private static byte[] compressed(Text text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(PIECE_BYTES);
    try (OutputStream out =
        new GZIPOutputStream(bytes, PIECE_BYTES) {
          {
            def.setLevel(Deflater.BEST_SPEED);
          }
        }) {
      text.write(out);
    }
    return bytes.toByteArray();
  }

  /** Returns the metrics without the limits that a caller may not use. */
  private static byte[] within(Caller caller, byte[] all) {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                new GZIPInputStream(new ByteArrayInputStream(all)), StandardCharsets.UTF_8))) {
      return compressed(
          out -> {
            Writer text = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
              Matcher limit = OF_A_LIMIT.matcher(line);
              if (line.startsWith("#") || !limit.find() || caller.mayUse(limit.group(1))) {
                text.write(line + "\n");
              }
            }
            text.flush();
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the target is in memory
    }
  }

  private synchronized void scrape(CompletableFuture<Scrape> mine) {
    next.set(null); // this scrape need not contain later changes
    try {
      Scrape scrape = new Scrape(compressed(registry::scrape));
      newest.set(scrape);
      mine.complete(scrape);
    } catch (Throwable e) {
      mine.completeExceptionally(e);
    }
  }

  /** The meters of the process and its JVM, under Micrometer's names. Thread-safe. */
  record ProcessMeters(JvmGcMetrics collections) implements AutoCloseable {

    /** Registers the meters; closing the result removes their listeners from the JVM. */
    static ProcessMeters bind(MeterRegistry registry) {
      JvmGcMetrics collections = new JvmGcMetrics();
      List<MeterBinder> all =
          List.of(
              new UptimeMetrics(),
              new ProcessorMetrics(),
              new FileDescriptorMetrics(),
              new JvmMemoryMetrics(),
              new JvmThreadMetrics(),
              new ClassLoaderMetrics(),
              collections);
      all.forEach(meters -> meters.bindTo(registry));
      return new ProcessMeters(collections);
    }

    @Override
    public void close() {
      collections.close();
    }
  }

  /**
   * Counts HTTP requests and measures their duration, by method, path and status. The meters have
   * the names that Spring Boot and Micronaut use, so that dashboards for these frameworks work. The
   * path is the route's pattern and never the client's path, so clients cannot create series.
   * Thread-safe; never blocks.
   */
  static final class RequestMeters implements DecoratingHttpServiceFunction {

    private static final String NO_PATH = "other";
    private static final Duration[] BUCKETS = {
      Duration.ofMillis(1),
      Duration.ofMillis(5),
      Duration.ofMillis(25),
      Duration.ofMillis(100),
      Duration.ofMillis(500),
      Duration.ofMillis(2500)
    };

    private final MeterRegistry registry;
    private final Map<Key, Timer> timers = new ConcurrentHashMap<>();

    RequestMeters(MeterRegistry registry) {
      this.registry = registry;
    }

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      Stages.onSuccess(context.log().whenComplete(), log -> ended(context, log));
      return next.serve(context, request);
    }

    private void ended(ServiceRequestContext context, RequestLog log) {
      String path = context.config().route().patternString();
      HttpMethod method = context.method();
      Key key =
          new Key(
              method == HttpMethod.UNKNOWN ? NO_PATH : method.name(),
              context.config().route().isFallback() ? NO_PATH : path,
              log.responseStatus().code());
      Timer known = timers.get(key);
      Timer timer = known == null ? timers.computeIfAbsent(key, this::bind) : known;
      timer.record(log.totalDurationNanos(), TimeUnit.NANOSECONDS);
    }

    private Timer bind(Key key) {
      return Timer.builder("http.server.requests")
          .description("Requests by their route and the status of their answers")
          .tag("method", key.method())
          .tag("uri", key.path())
          .tag("status", Integer.toString(key.status()))
          .serviceLevelObjectives(BUCKETS)
          .register(registry);
    }

    private record Key(String method, String path, int status) {}
  }
}
