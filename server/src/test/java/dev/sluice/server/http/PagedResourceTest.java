// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.base.Json;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pages of long lists. */
final class PagedResourceTest {

  private static final int MANY = 1_000;

  private record Entry(String id) {}

  /** Entries that are made as they are asked for: 1000 to 1999, the last one first. */
  private static final class Entries extends PagedResource<Entry> {
    private WeakReference<Entry> last = new WeakReference<>(null);

    Entries() {
      super(SampleFixture::limits, "entries");
    }

    @Override
    Stream<Entry> of(Limits now, LimitName name) {
      return IntStream.range(0, MANY).mapToObj(this::entry);
    }

    private Entry entry(int i) {
      Entry entry = new Entry(Integer.toString(2 * MANY - 1 - i));
      if (i == 0) {
        last = new WeakReference<>(entry);
      } else if (i == MANY - 1) {
        await().untilAsserted(this::assertLastIsGone);
      }
      return entry;
    }

    private void assertLastIsGone() {
      System.gc();
      assertThat(last.get()).as("the last entry, which is not on the page").isNull();
    }

    @Override
    String id(Entry one) {
      return one.id();
    }

    @Override
    void write(Entry one, Json json) {
      json.put("id", one.id());
    }
  }

  private final SluiceServer server =
      SluiceServer.builder(
              new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), ConnectionBudget.usual())
          .part(port -> port.service("/", new Entries()))
          .start();

  @AfterEach
  void stop() {
    server.close();
  }

  private String page(String query) throws Exception {
    URI uri =
        URI.create(
            "http://" + HostPort.format(server.address()) + "/?limit=ApiCallsPerKey" + query);
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
        .body();
  }

  @Test
  void entriesBehindThePage_areNotHeld() throws Exception {
    assertThat(page("&most=2"))
        .isEqualTo(
            "{\"entries\":[{\"id\":\"1000\"},{\"id\":\"1001\"}],\"next\":\"ApiCallsPerKey/1001\"}");
    assertThat(page("&most=2&after=ApiCallsPerKey/1500"))
        .isEqualTo(
            "{\"entries\":[{\"id\":\"1501\"},{\"id\":\"1502\"}],\"next\":\"ApiCallsPerKey/1502\"}");
  }
}
