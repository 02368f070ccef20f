// SPDX-License-Identifier: Apache-2.0
package orders;

import dev.sluice.spring.RateLimited;
import java.util.List;
import org.springframework.stereotype.Service;

@Service
public class Orders {

  // begin: annotation
  @RateLimited(limit = "OrdersPerAccount", id = "#account", cost = "#items.size()")
  public String order(String account, List<String> items) {
    return account + " ordered " + items.size();
  }
  // end: annotation
}
