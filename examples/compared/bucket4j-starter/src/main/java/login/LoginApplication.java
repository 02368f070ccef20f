// SPDX-License-Identifier: Apache-2.0
package login;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
public class LoginApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(LoginApplication.class, arguments);
  }

  @PostMapping("/login")
  String login() {
    return "welcome";
  }
}
