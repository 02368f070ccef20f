// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.linecorp.armeria.common.HttpMethod;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.server.access.AuditLog.Noted;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The acts that a request over HTTP asks for, as far as its first line tells, for the audit log.
 * Stateless.
 */
final class AskedActs {

  private static final String ADMIN = "/v1/admin/";

  private AskedActs() {}

  /**
   * Finds the acts.
   *
   * @param route the path of the request's route, "*" for what follows
   * @param path the path as the client wrote it
   * @param id the query parameter of this name, null if there is none
   * @return none for a request that the audit log has no line for
   */
  static List<Noted> of(HttpMethod method, String route, String path, @Nullable String id) {
    if (method == HttpMethod.POST) {
      return switch (route) {
        case "/v1/reset" -> List.of(Noted.of(Act.RESET, null, null));
        case "/v1/refund" -> List.of(Noted.of(Act.REFUND, null, null));
        case "/v1/admin/reload" -> List.of(Noted.of("reload"));
        default -> List.of();
      };
    }
    String verb = method == HttpMethod.PUT ? "set " : method == HttpMethod.DELETE ? "remove " : "";
    return verb.isEmpty()
        ? List.of()
        : switch (route) {
          case "/v1/admin/overrides/*" -> List.of(ofPath(verb + "override", path, id));
          case "/v1/admin/penalties/*" -> List.of(ofPath(verb + "penalty", path, id));
          default -> List.of();
        };
  }

  private static Noted ofPath(String what, String path, @Nullable String id) {
    int query = path.indexOf('?');
    String whole = query < 0 ? path : path.substring(0, query);
    String[] parts = whole.substring(Math.min(ADMIN.length(), whole.length())).split("/", 3);
    String inPath = part(parts, 2);
    return new Noted(what, part(parts, 1), inPath == null ? id : inPath);
  }

  private static @Nullable String part(String[] parts, int index) {
    if (parts.length <= index || parts[index].isEmpty()) {
      return null;
    }
    String encoded = parts[index];
    try {
      return QueryStringDecoder.decodeComponent(encoded.replace("+", "%2B"));
    } catch (IllegalArgumentException e) {
      return encoded; // as it was written
    }
  }
}
