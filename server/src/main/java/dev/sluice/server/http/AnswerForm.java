// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.QueryParams;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Decision;
import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import dev.sluice.web.HeaderProfile;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import java.util.ArrayList;
import java.util.List;

/**
 * In which form a client wants to be answered: the query of a request for a decision. Immutable.
 *
 * @param denied the status of a denial: 200, unless the caller is a proxy that understands nothing
 *     but a status; that of a denial by the failure rule {@code deny} is 503 then
 * @param headers which headers tell the decision once more, for callers that pass them on
 */
record AnswerForm(HttpStatus denied, HeaderProfile headers) {

  private static final String STATUS = "status";
  private static final String HEADERS = "headers";
  private static final AnswerForm USUAL = new AnswerForm(HttpStatus.OK, HeaderProfile.NONE);
  private static final List<String> FAMILIES =
      List.of("none", "ietf", "legacy", "github", "draft03");

  /**
   * Reads the query.
   *
   * @param mistakes where those of the query go
   * @param more other parameters that the resource has
   */
  static AnswerForm of(ServiceRequestContext context, Mistakes mistakes, String... more) {
    if (context.query() == null) {
      return USUAL;
    }
    List<String> known = new ArrayList<>(List.of(STATUS, HEADERS));
    known.addAll(List.of(more));
    Queries.require(context, known, mistakes);
    QueryParams query = context.queryParams();
    return new AnswerForm(
        mistakes.read(() -> status(query.get(STATUS, "200")), USUAL.denied),
        mistakes.read(() -> headers(query.get(HEADERS, "none")), USUAL.headers));
  }

  /** The form of an answer that has one form only; no query is allowed. */
  static AnswerForm fixed(ServiceRequestContext context) {
    Queries.require(context, List.of());
    return USUAL;
  }

  /** The same, collecting the mistakes of the query. */
  static AnswerForm fixed(ServiceRequestContext context, Mistakes mistakes) {
    Queries.require(context, List.of(), mistakes);
    return USUAL;
  }

  HttpStatus status(Decision decision) {
    boolean cannotDecide = decision.denied() && !decision.decidedBy().knowsBucket();
    return decision.allowed() || denied.equals(HttpStatus.OK)
        ? HttpStatus.OK
        : cannotDecide ? HttpStatus.SERVICE_UNAVAILABLE : denied;
  }

  private static HttpStatus status(String wanted) {
    return switch (wanted) {
      case "200" -> HttpStatus.OK;
      case "429" -> HttpStatus.TOO_MANY_REQUESTS;
      default ->
          throw new WireException(
              STATUS,
              "found %s, expected 200 or 429, the status of a denial"
                  .formatted(SafeText.quote(wanted)));
    };
  }

  /** The family of headers of a word. */
  static HeaderProfile headers(String wanted) {
    return switch (wanted) {
      case "none" -> HeaderProfile.NONE;
      case "ietf" -> HeaderProfile.IETF;
      case "legacy" -> HeaderProfile.LEGACY;
      case "github" -> HeaderProfile.GITHUB;
      case "draft03" -> HeaderProfile.DRAFT03;
      default ->
          throw new WireException(
              HEADERS,
              "found %s, expected one of %s%s"
                  .formatted(
                      SafeText.quote(wanted),
                      String.join(", ", FAMILIES),
                      Suggestion.didYouMean(wanted, FAMILIES)));
    };
  }
}
