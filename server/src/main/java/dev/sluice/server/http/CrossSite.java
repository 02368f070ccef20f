// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.RequestHeaders;
import dev.sluice.server.base.RefusedException;
import io.netty.util.AsciiString;
import java.util.List;

/*
 * A page of another site may make a browser send a GET, as for an image, without asking and without
 * an Origin. The browser says so in Sec-Fetch-Site. A proxy that asks for its client passes that
 * header on, but adds headers of its own. No page can make a browser send those without asking
 * first (and that is refused by its Origin).
 */

/** Refuses requests that a page of another site made a browser send. Stateless. */
final class CrossSite {

  private static final String SITE = "sec-fetch-site";
  private static final List<String> OTHERS = List.of("cross-site", "same-site");
  private static final List<String> OF_PROXIES =
      List.of(
          "x-forwarded-", "x-original-", "x-real-ip", "forwarded", "via", "sluice-", "ratelimit-");

  private CrossSite() {}

  static void refuse(RequestHeaders headers) {
    String site = headers.get(SITE, "none");
    if (OTHERS.contains(site) && !isOfProxy(headers)) {
      throw RefusedException.crossSite(site);
    }
  }

  private static boolean isOfProxy(RequestHeaders headers) {
    for (AsciiString name : headers.names()) {
      for (String start : OF_PROXIES) {
        if (name.toString().startsWith(start)) {
          return true;
        }
      }
    }
    return false;
  }
}
