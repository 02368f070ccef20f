// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.linecorp.armeria.server.HttpService;
import java.util.Locale;

/** What callers need, for tests of other packages. */
public final class NeedsTable {

  private NeedsTable() {}

  /** Whether a service says what it needs; otherwise administrators alone may use it. */
  public static boolean saysWhatItNeeds(HttpService service) {
    return service.as(Endpoint.class) != null || service.as(Endpoint.Guarded.class) != null;
  }

  /** What a caller needs at the path of a route, as the docs print it. */
  public static String needs(HttpService service, String path) {
    String reading = word(Endpoint.need(service, path, true));
    String writing = word(Endpoint.need(service, path, false));
    return reading.equals(writing) ? reading : reading + "; " + writing + " for changes";
  }

  /** Returns the word for a permission in the docs. */
  public static String word(Permission need) {
    return need == Permission.A_NAME ? "any role" : need.name().toLowerCase(Locale.ROOT);
  }
}
