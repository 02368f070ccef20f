package dev.sluice.servlet;

import dev.sluice.store.StoreException;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The end of a request that has conditional rules: gives back what its status does not count, once.
 * Thread-safe.
 */
final class Settlement implements AsyncListener {

  private final List<Batch> open;
  private final HttpServletResponse response;
  private final QuietLog log;
  private final AtomicBoolean settled = new AtomicBoolean();

  Settlement(List<Batch> open, HttpServletResponse response, QuietLog log) {
    this.open = open;
    this.response = response;
    this.log = log;
  }

  void settle(int status) {
    if (!settled.compareAndSet(false, true)) {
      return;
    }
    for (Batch batch : open) {
      try {
        batch.settle(status);
      } catch (StoreException e) {
        // The response is on its way: the tokens stay spent, which errs on the strict side.
        log.failed("tokens were not given back", e);
      }
    }
  }

  @Override
  public void onComplete(AsyncEvent event) {
    settle(response.getStatus());
  }

  /** A dispatch that starts anew forgets its listeners. */
  @Override
  public void onStartAsync(AsyncEvent event) {
    event.getAsyncContext().addListener(this);
  }

  @Override
  public void onTimeout(AsyncEvent event) {}

  @Override
  public void onError(AsyncEvent event) {}
}
