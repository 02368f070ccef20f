// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** {@code GET /metrics}, in the text format of Prometheus. */
final class MetricsResource extends Resource {

  private static final MediaType TEXT = MediaType.parse("text/plain; version=0.0.4; charset=utf-8");
  private static final Pattern OF_A_LIMIT = Pattern.compile("[{,]limit=\"([^\"]*)\"");

  private final PrometheusMeterRegistry registry;

  private final AtomicReference<@Nullable CompletableFuture<Scrape>> next = new AtomicReference<>();

  /**
   * The answers of one scrape. Callers that may use the same limits share one. If each had its own
   * copy, all copies would be in memory before the budget counts any of them. Thread-safe.
   */
  static final class Scrape {

    private final String text;
    private final ConcurrentHashMap<Object, AggregatedHttpResponse> answers =
        new ConcurrentHashMap<>();

    private Scrape(String text) {
      this.text = text;
    }

    AggregatedHttpResponse answer(Caller caller) {
      return answers.computeIfAbsent(
          caller.usableLimits(), limits -> Answers.text(TEXT, within(caller, text)));
    }
  }

  MetricsResource(PrometheusMeterRegistry registry) {
    super(HttpMethod.GET);
    this.registry = registry;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Caller caller = AccessPart.caller(context);
    return nextScrape(context.blockingTaskExecutor()).thenApply(scrape -> scrape.answer(caller));
  }

  /**
   * Returns the next scrape that begins: requests that arrive during a scrape share the one after
   * it. However many ask, at most two threads are busy with it.
   *
   * @param threads run the scrape
   */
  CompletionStage<Scrape> nextScrape(Executor threads) {
    CompletableFuture<Scrape> mine = new CompletableFuture<>();
    CompletableFuture<Scrape> waiting =
        next.accumulateAndGet(mine, (known, made) -> known == null ? made : known);
    if (waiting == mine) {
      try {
        threads.execute(() -> scrape(mine));
      } catch (RuntimeException | Error e) { // no thread to be had, or the server stops
        next.set(null); // or later requests would wait for a scrape that nobody begins
        mine.completeExceptionally(e);
      }
    }
    return waiting;
  }

  /** A caller that may not use every limit learns the names of those that it may. */
  private static String within(Caller caller, String text) {
    return caller.mayUseAll()
        ? text
        : text.lines()
            .filter(
                line -> {
                  Matcher limit = OF_A_LIMIT.matcher(line);
                  return line.startsWith("#") || !limit.find() || caller.mayUse(limit.group(1));
                })
            .collect(Collectors.joining("\n", "", "\n"));
  }

  private synchronized void scrape(CompletableFuture<Scrape> mine) {
    next.set(null); // from here on, a change may come too late for this scrape
    try {
      mine.complete(new Scrape(registry.scrape()));
    } catch (Throwable e) {
      mine.completeExceptionally(e);
    }
  }
}
