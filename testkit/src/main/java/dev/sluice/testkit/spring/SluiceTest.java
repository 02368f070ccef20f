// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * Starts a slice of a Spring Boot application: its limits, and the beans whose {@code @RateLimited}
 * methods a test calls. The slice has no other component and no other auto-configuration: no
 * server, no database, no Redis.
 *
 * <pre>{@code
 * @SluiceTest(Orders.class)
 * class OrdersTest {
 *
 *   @Autowired private Orders orders;
 *   @Autowired private ManualTime time;
 *
 *   @Test
 *   void order_overTheLimit_isRefusedForAnHour() { … }
 * }
 * }</pre>
 *
 * <p>Limits, buckets and the clock are as in {@link AutoConfigureSluice}. Add the dependencies of a
 * component as in any test: by {@code @Import}, {@code @TestConfiguration} or a mock bean.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@BootstrapWith(SluiceTestBootstrapper.class)
@ExtendWith(SpringExtension.class)
@AutoConfigureSluice
public @interface SluiceTest {

  /**
   * Returns the components of the application that become beans.
   *
   * @return classes, in no order; none for a test of the limits alone
   */
  Class<?>[] value() default {};

  /**
   * Returns additional properties, which override those of the application.
   *
   * @return entries of the form {@code name=value}
   */
  String[] properties() default {};
}
