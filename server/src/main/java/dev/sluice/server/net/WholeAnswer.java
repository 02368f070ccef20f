// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import java.util.List;

/**
 * An answer as it is sent. The library's own class copies all headers to add the content length.
 *
 * @param headers with the content length, where the status allows a body
 * @param content the body
 */
public record WholeAnswer(ResponseHeaders headers, HttpData content)
    implements AggregatedHttpResponse {

  /**
   * Makes an answer.
   *
   * @param headers all but the content length, which is added here
   * @param content the body; empty for none
   * @return the answer
   */
  public static WholeAnswer of(ResponseHeadersBuilder headers, HttpData content) {
    if (!headers.status().isContentAlwaysEmpty()) {
      headers.contentLength(content.length());
    }
    return new WholeAnswer(headers.build(), content);
  }

  @Override
  public HttpStatus status() {
    return headers.status();
  }

  @Override
  public List<ResponseHeaders> informationals() {
    return List.of();
  }

  @Override
  public HttpHeaders trailers() {
    return HttpHeaders.of();
  }
}
