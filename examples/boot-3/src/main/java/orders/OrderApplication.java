// SPDX-License-Identifier: Apache-2.0
package orders;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class OrderApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(OrderApplication.class, arguments);
  }
}
