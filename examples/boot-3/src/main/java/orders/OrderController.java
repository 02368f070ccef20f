// SPDX-License-Identifier: Apache-2.0
package orders;

import java.util.List;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class OrderController {

  private final Orders orders;
  private final Logins logins;

  OrderController(Orders orders, Logins logins) {
    this.orders = orders;
    this.logins = logins;
  }

  @PostMapping("/orders")
  String order(@RequestParam String account, @RequestParam List<String> items) {
    return orders.order(account, items);
  }

  @PostMapping("/login")
  String login(@RequestParam String user, @RequestParam String password) {
    return logins.login(user, password);
  }
}
