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
 *
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
   * @return the classes in any order; empty for a test of the limits alone
   */
  Class<?>[] value() default {};

  /** */
  String[] properties() default {};
}
