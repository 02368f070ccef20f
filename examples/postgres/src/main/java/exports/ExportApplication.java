// SPDX-License-Identifier: Apache-2.0
package exports;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class ExportApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(ExportApplication.class, arguments);
  }
}
