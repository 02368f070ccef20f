// SPDX-License-Identifier: Apache-2.0
package exports;

import dev.sluice.Limiter;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class ExportController {

  private final Limiter limiter;

  ExportController(Limiter limiter) {
    this.limiter = limiter;
  }

  @PostMapping("/exports")
  String export(@RequestParam String user) {
    long left = limiter.spend("ExportsPerUser", user).orThrow().remaining();
    return "done, " + left + " left"; // a denial throws, which sends a 429
  }
}
