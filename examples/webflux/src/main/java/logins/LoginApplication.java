// SPDX-License-Identifier: Apache-2.0
package logins;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

@SpringBootApplication
@RestController
public class LoginApplication {

  @PostMapping("/login")
  public Mono<String> login() {
    return Mono.just("welcome");
  }

  public static void main(String[] arguments) {
    SpringApplication.run(LoginApplication.class, arguments);
  }
}
