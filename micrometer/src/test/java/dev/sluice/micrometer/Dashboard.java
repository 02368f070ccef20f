// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The queries of the Grafana dashboard, with its variables filled in. */
final class Dashboard {

  private static final Path FILE = Path.of("../docs/grafana/sluice.json");

  private Dashboard() {}

  /** A panel's query, named for messages. */
  record Query(String panel, String promql) {}

  static List<Query> queries(String rateInterval) throws IOException {
    List<Query> queries = new ArrayList<>();
    for (JsonNode panel : new ObjectMapper().readTree(FILE.toFile()).path("panels")) {
      for (JsonNode target : panel.path("targets")) {
        String promql =
            target
                .path("expr")
                .asText()
                .replace("$limit", ".*")
                .replace("$__rate_interval", rateInterval);
        if (!promql.contains("sluice_")) { // the server's metrics, which its own test covers
          queries.add(new Query(panel.path("title").asText(), promql));
        }
      }
    }
    return queries;
  }
}
