// SPDX-License-Identifier: Apache-2.0
package plans;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class PlanApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(PlanApplication.class, arguments);
  }
}
