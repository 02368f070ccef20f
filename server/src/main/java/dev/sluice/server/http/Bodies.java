// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import dev.sluice.server.Requests;
import org.jspecify.annotations.Nullable;

/** In which form bodies are accepted. Stateless. */
final class Bodies {

  private Bodies() {}

  /** Returns the mistake in the way the body is written; null if there is none. */
  static @Nullable Fault unreadable(HttpRequest request, MediaType expected) {
    MediaType type = request.contentType();
    if (type == null
        || !type.is(expected.withoutParameters())
        || !Requests.isUtf8(request.headers())) {
      return Fault.wrongMediaType(
          request.headers().get(HttpHeaderNames.CONTENT_TYPE), expected.withoutParameters());
    }
    String encoding = Requests.compression(request.headers());
    return encoding == null ? null : Fault.wrongEncoding(encoding);
  }
}
