// SPDX-License-Identifier: Apache-2.0
package login;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class LoginApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(LoginApplication.class, arguments);
  }
}
