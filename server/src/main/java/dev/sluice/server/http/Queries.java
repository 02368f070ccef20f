package dev.sluice.server.http;

import com.linecorp.armeria.common.QueryParams;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.wire.WireException;
import dev.sluice.text.Suggestion;
import java.util.List;

/** Query parameters, read as strictly as bodies are. Stateless. */
final class Queries {

  private Queries() {}

  /** Refuses a parameter that is unknown, or there more than once. */
  static void require(ServiceRequestContext context, List<String> known) {
    QueryParams parameters = context.queryParams();
    for (String name : parameters.names()) {
      if (!known.contains(name)) {
        throw new WireException(
            name,
            "found an unknown query parameter, expected %s%s"
                .formatted(
                    known.isEmpty() ? "none" : String.join(", ", known),
                    Suggestion.didYouMean(name, known)));
      }
      if (parameters.getAll(name).size() > 1) {
        throw new WireException(name, "found the query parameter twice, expected it once");
      }
    }
  }
}
