// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.QueryParams;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.Json;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.wire.WireException;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** A sorted list in pages: {@code ?limit=NAME&most=N&after=LAST}. Thread-safe. */
abstract class PagedResource<T> extends Resource {

  private static final String LIMIT = "limit";
  private static final String MOST = "most";
  private static final String AFTER = "after";
  private static final int USUAL = 100;
  private static final int LARGEST = 1000;

  private final Supplier<Limits> limits;
  private final String field;

  /** Makes a list; {@code field} is the name of the list in the response. */
  PagedResource(Supplier<Limits> limits, String field) {
    super(HttpMethod.GET);
    this.limits = limits;
    this.field = field;
  }

  abstract Stream<T> of(Limits now, LimitName name);

  abstract String id(T one);

  abstract void write(T one, Json json);

  private record Item<T>(String key, T one) {}

  @Override
  final CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of(LIMIT, MOST, AFTER));
    Caller caller = AccessPart.caller(context);
    return CompletableFuture.supplyAsync(
        () -> page(context.queryParams(), caller), context.blockingTaskExecutor());
  }

  private AggregatedHttpResponse page(QueryParams query, Caller caller) {
    Limits now = limits.get();
    String wanted = query.get(LIMIT);
    Collection<LimitName> names =
        wanted == null
            ? now.catalogue().names()
            : List.of(caller.lookUp(List.of(wanted), () -> now.catalogue().get(wanted)));
    String after = query.get(AFTER, "");
    int most = most(query);
    // The queue holds at most one page and one further entry, since all entries could fill the
    // memory. The head of the queue is the entry that is last in the sort order.
    Queue<Item<T>> first = new PriorityQueue<>(Comparator.comparing(Item<T>::key).reversed());
    for (LimitName name : names) {
      if (caller.mayUse(name.name())) {
        of(now, name)
            .map(one -> new Item<>(name.name() + "/" + id(one), one))
            .filter(item -> item.key().compareTo(after) > 0)
            .forEach(
                item -> {
                  first.add(item);
                  if (first.size() > most + 1) {
                    first.remove();
                  }
                });
      }
    }
    boolean isLast = first.size() <= most;
    if (!isLast) {
      first.remove();
    }
    List<Item<T>> page = first.stream().sorted(Comparator.comparing(Item::key)).toList();
    return Answers.json(
        HttpStatus.OK,
        json ->
            json.putEach(field, page, (item, one) -> write(item.one(), one))
                .put("next", isLast ? null : page.get(page.size() - 1).key()));
  }

  private static int most(QueryParams query) {
    String text = query.get(MOST, Integer.toString(USUAL));
    int most = text.matches("[0-9]{1,4}") ? Integer.parseInt(text) : 0;
    if (most < 1 || most > LARGEST) {
      throw new WireException(
          MOST,
          "found %s, expected a whole number from 1 to %s"
              .formatted(SafeText.quote(text), LARGEST));
    }
    return most;
  }
}
