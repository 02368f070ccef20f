// SPDX-License-Identifier: Apache-2.0
package plans;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
class CallController {

  // begin: spend
  private static final LimitName CALLS = LimitName.builder("CallsPerCustomer").build();

  private final Limiter limiter;
  private final Plans plans;

  CallController(Limiter limiter, Plans plans) {
    this.limiter = limiter;
    this.plans = plans;
  }

  @GetMapping("/call")
  String call(@RequestHeader String tenant, @RequestHeader String customer) {
    Customer caller = new Customer(tenant, customer);
    Quota plan = plans.of(caller).orElseThrow(CallController::withoutAPlan);
    long left = limiter.spend(Transaction.of(CALLS, plan, caller.id())).orThrow().remaining();
    return "done, " + left + " left"; // a denial throws, which sends a 429
  }

  // end: spend

  private static ResponseStatusException withoutAPlan() {
    return new ResponseStatusException(HttpStatus.FORBIDDEN, "no plan");
  }
}
