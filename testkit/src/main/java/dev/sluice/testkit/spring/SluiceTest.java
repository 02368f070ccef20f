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
 * Starts a slice of a Spring Boot application for a test. The slice contains the limits of the
 * application, and the beans whose {@code @RateLimited} methods the test calls. The slice contains
 * no other component and no other auto-configuration, so the test needs no server, no database and
 * no Redis.
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
 * <p>{@link AutoConfigureSluice} describes the limits, the buckets and the clock. Add the other
 * beans that a component needs as in any Spring test: with {@code @Import},
 * {@code @TestConfiguration} or a mock bean.
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
   * @return the classes in any order; empty for a test of only the limits
   */
  Class<?>[] value() default {};

  /**
   * Returns additional properties, which override the properties of the application.
   *
   * @return entries of the form {@code name=value}
   */
  String[] properties() default {};
}
