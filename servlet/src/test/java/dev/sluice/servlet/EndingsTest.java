// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import dev.sluice.testkit.web.EndingContract;
import dev.sluice.testkit.web.FilterProtocol;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import dev.sluice.web.Rule;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of endings in each container, and the endings that only servlets know. */
@Tag("slow")
@ParameterizedClass
@MethodSource("containersAndProtocols")
class EndingsTest extends EndingContract {

  private final Container container;

  EndingsTest(Container container, FilterProtocol protocol) {
    super(protocol);
    this.container = container;
  }

  static Stream<Arguments> containersAndProtocols() {
    return Container.tested()
        .flatMap(
            container ->
                Stream.of(FilterProtocol.values())
                    .map(protocol -> Arguments.of(container, protocol)));
  }

  @Override
  protected FilteredSite start(FilterSetup setup) throws Exception {
    return container
        .server()
        .servlet("/end", new AsyncPages())
        .servlet("/other", Pages.status())
        .servlet("/upstream", Pages.upstream())
        .filter(RateLimitFilter.builder(setup.limiter()), setup.rules().toArray(Rule[]::new))
        .start();
  }

  @ParameterizedTest
  @CsvSource({
    // ending                              , status, of 401, of 500, all but success
    "/other?status=401                     , 401, true,  false, true",
    "/other?status=401&sendError=1         , 401, true,  false, true",
    "/other?status=302                     , 302, false, false, true",
    "/end?how=send-error                   , 401, true,  false, true",
    "/end?how=dispatch-complete            , 401, true,  false, true",
    "/end?how=dispatch-status              , 401, true,  false, true",
    "/end?how=time-out-handled             , 401, true,  false, true",
    "/end?how=time-out-handled&status=204  , 204, false, false, false",
    // An error of the server does not say how the work ends that a time-out interrupts.
    "/end?how=time-out-handled&status=503  , 503, true,  true,  true",
    "/end?how=time-out-refused&status=503  , 503, true,  true,  true",
    "/end?how=thread-dies                  , 500, true,  true,  true",
    // The client is still connected, and receives the application's 500.
    "/upstream?how=away                    , 500, false, true,  true",
    "/upstream?how=reset                   , 500, false, true,  true",
    "/upstream?how=time-out                , 500, false, true,  true",
    // A container reports a client that has disconnected as an IOException, too.
    "/upstream?how=file                    , 500, true,  true,  true",
    "/upstream?how=body                    , 500, true,  true,  true",
  })
  void endingOfServlets_isCountedByItsStatus(
      String path, int status, boolean of401, boolean of500, boolean allButSuccess)
      throws Exception {
    assertEnding(path, status, of401, of500, allButSuccess);
  }
}
