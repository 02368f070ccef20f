// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** In which form bodies are accepted. Stateless. */
final class Bodies {

  private static final String IDENTITY = "identity";

  private Bodies() {}

  /** Returns the mistake in the way the body is written; null if there is none. */
  static @Nullable Fault unreadable(HttpRequest request, MediaType expected) {
    MediaType type = request.contentType();
    if (type == null || !type.is(expected.withoutParameters()) || !isUtf8(type)) {
      return Fault.wrongMediaType(
          request.headers().get(HttpHeaderNames.CONTENT_TYPE), expected.withoutParameters());
    }
    String encoding = request.headers().get(HttpHeaderNames.CONTENT_ENCODING, IDENTITY);
    return encoding.equalsIgnoreCase(IDENTITY) ? null : Fault.wrongEncoding(encoding);
  }

  /** JSON is UTF-8, so a body that says it is in another charset is not what it says. */
  private static boolean isUtf8(MediaType type) {
    return type.parameters().getOrDefault("charset", List.of()).stream()
        .allMatch(charset -> charset.equalsIgnoreCase("utf-8") || charset.equalsIgnoreCase("utf8"));
  }
}
