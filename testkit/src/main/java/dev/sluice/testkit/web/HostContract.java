// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.web.RequestWord;
import dev.sluice.web.Rule;
import org.eclipse.jetty.http.HttpFields;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * JUnit tests over real HTTP/2 of rules that read the host, which clients send in the pseudo-header
 * {@code :authority}. Requires {@code org.eclipse.jetty.http2:jetty-http2-client} on the class
 * path.
 *
 * <p>To test a filter, extend this class and start a server. The application behind the filter must
 * respond to {@code /other} with a 200.
 */
public abstract class HostContract {

  private final FilterRun run = new FilterRun(this::start);

  /** Creates the contract, for subclasses that test a filter. */
  protected HostContract() {}

  /**
   * Starts a server whose application is behind a filter. A test calls this method at most once,
   * and the contract closes the server.
   *
   * @param setup the settings of the filter
   * @return the running server
   * @throws Exception if the server does not start
   */
  protected abstract FilteredSite start(FilterSetup setup) throws Exception;

  private int status(String authority, HttpFields headers) throws Exception {
    try (Http2Client client = new Http2Client(run.site())) {
      return client.get("/other", authority, headers).status();
    }
  }

  private void limitEachHost() throws Exception {
    run.start(Rule.on("/**").limit("PerKey", RequestWord.parse("host")).build());
  }

  @ParameterizedTest
  @CsvSource({
    "api.example       , api.example",
    "API.example:8080  , api.example",
    "127.0.0.1:80      , 127.0.0.1",
    "[2001:db8::1]:443 , [2001:db8::1]",
    "[2001:db8::1]     , [2001:db8::1]",
  })
  final void hostOfHttp2_isTheAuthority(String authority, String id) throws Exception {
    limitEachHost();
    assertThat(status(authority, HttpFields.EMPTY)).isEqualTo(200);
    assertThat(run.remaining("PerKey", id)).isEqualTo(1);
    assertThat(status(authority, HttpFields.EMPTY)).isEqualTo(200);
    assertThat(status(authority, HttpFields.EMPTY)).isEqualTo(429);
    assertThat(status("other.example", HttpFields.EMPTY)).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({"api.example", "[2001:db8::1]:443"})
  final void hostHeader_besideTheSameAuthority_isOneHost(String authority) throws Exception {
    limitEachHost();
    assertThat(status(authority, HttpFields.build().put("Host", authority))).isEqualTo(200);
  }

  @Test
  final void hostHeader_besideAnotherAuthority_doesNotReplaceTheAuthority() throws Exception {
    limitEachHost();
    int status = status("api.example", HttpFields.build().put("Host", "other.example"));
    long spent = 2 - run.remaining("PerKey", "api.example");
    assertThat(spent).as("the server responded with %s", status).isEqualTo(status == 200 ? 1 : 0);
    assertThat(run.remaining("PerKey", "other.example")).isEqualTo(2);
  }

  @Test
  final void forwardedHost_doesNotReplaceTheAuthority() throws Exception {
    limitEachHost();
    HttpFields forwarded = HttpFields.build().put("X-Forwarded-Host", "other.example");
    assertThat(status("api.example", forwarded)).isEqualTo(200);
    assertThat(run.remaining("PerKey", "api.example")).isEqualTo(1);
  }

  /**
   * Stops the server of a test.
   *
   * @throws Exception if the server does not stop
   */
  @AfterEach
  protected final void closeSite() throws Exception {
    run.close();
  }
}
