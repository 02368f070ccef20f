// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/**
 * Runs a test of a Spring Boot application with its limits on a clock that stands still. Used with
 * {@code @SpringBootTest}, or a slice such as {@code @WebMvcTest}.
 *
 * <p>Limits, names and rules come from the application's own properties. The buckets are in memory,
 * whatever {@code sluice.store} is, and are full before each test method. Beans to inject: the
 * {@link dev.sluice.testkit.ManualTime} that all of Sluice uses, {@link dev.sluice.Limiter}, {@link
 * dev.sluice.AsyncLimiter}, {@link dev.sluice.limit.CurrentLimits}.
 *
 * <p>Needs {@code sluice-spring-boot-starter}; for Spring Boot 3.5 and 4. Test methods that share a
 * context share its buckets and its clock: they must not run in parallel.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration
public @interface AutoConfigureSluice {}
